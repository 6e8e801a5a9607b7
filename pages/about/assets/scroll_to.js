// Scroll to the element with this Streamlit key; stay if there is no key.
export default function scrollTo({ data }) {
  const part = data.key && document.querySelector(`.st-key-${CSS.escape(data.key)}`);
  if (!part) return;
  part.style.scrollMarginTop = "5rem"; // below the header
  part.scrollIntoView();
}
