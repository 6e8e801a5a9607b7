# The app with the light serving set: no training library is installed.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
COPY requirements-serve.txt .
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements-serve.txt

COPY LICENSE NOTICE streamlit_app.py ./
COPY .streamlit .streamlit
COPY profet_core profet_core
COPY profet_cli profet_cli
COPY profet_recorder profet_recorder
COPY ui ui
COPY pages pages
COPY models models
COPY sample_traces sample_traces

RUN useradd --create-home --uid 10001 profet
USER profet
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["streamlit", "run", "streamlit_app.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
