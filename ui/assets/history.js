// A changed setting replaces the page's address; only another page is a step back.
const push = history.pushState.bind(history);
history.pushState = (state, unused, url) => {
  const samePage = url != null && new URL(url, location.href).pathname === location.pathname;
  return samePage ? history.replaceState(state, unused, url) : push(state, unused, url);
};
