# The app with the light serving set: no training library is installed. `make image` builds it.
# python:3.13.15-slim-trixie; renew tag and digest together: docker buildx imagetools inspect python:3.13-slim
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

# Streamlit reports nothing to anyone outside.
ENV STREAMLIT_BROWSER_GATHER_USAGE_STATS=false \
    OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
WORKDIR /app
COPY requirements-serve.txt .
RUN pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --require-hashes -r requirements-serve.txt

COPY LICENSE NOTICE streamlit_app.py ./
COPY docs/LICENSES.md docs/sbom.cdx.json docs/
COPY .streamlit .streamlit
COPY profet_core profet_core
COPY profet_http profet_http
COPY profet_cli profet_cli
COPY profet_profiles profet_profiles
COPY profet_recorder profet_recorder
COPY profet_collect profet_collect
COPY ui ui
COPY pages pages
COPY models models
COPY sample_traces sample_traces
# What the app hands out for training machines.
RUN pip wheel --no-cache-dir --disable-pip-version-check --no-deps --wheel-dir dist ./profet_recorder
# The root is read-only when it runs: what Python compiles is compiled now.
RUN python -m compileall -q profet_profiles profet_core profet_recorder profet_http profet_cli ui pages

# A user without a name, a home or anything to write; what is uploaded goes through /tmp, where a tmpfs belongs.
USER 10001:10001
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/v1/health', timeout=9)"]
CMD ["python", "-m", "profet_cli", "app", "--host", "0.0.0.0"]
