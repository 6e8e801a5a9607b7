// Uploads: their percentage in the main area, the phone's drawer, and a mark that this tab had one.
{
  const kept = "profet-upload", open = "[data-testid=stExpandSidebarButton]", shut = "[data-testid=stSidebarCollapseButton] button";
  const asked = new URLSearchParams(location.search);
  if (sessionStorage.getItem(kept) && asked.get("source") === "upload" && !asked.has("profile")) {
    asked.set("reloaded", "1");
    history.replaceState(history.state, "", `${location.pathname}?${asked}${location.hash}`);
  }
  const send = XMLHttpRequest.prototype.send;
  const say = text => {
    let line = document.querySelector(".profet-upload");
    if (!line) {
      line = Object.assign(document.createElement("div"), {className: "profet-upload"});
      line.setAttribute("role", "status");
      document.body.append(line);
    }
    line.textContent = text;
  };
  XMLHttpRequest.prototype.send = function (body) {
    const file = body instanceof FormData && [...body.values()].find(value => value instanceof File);
    if (file) {
      this.upload.addEventListener("progress", ({loaded, total}) => {
        if (loaded < total) say(`Uploading ${file.name}: ${Math.floor(100 * loaded / total)}%`);
      });
      this.addEventListener("loadend", () => {
        say("");
        sessionStorage.setItem(kept, "1");
        if (innerWidth < 768) document.querySelector(shut)?.click();
      });
    }
    return send.call(this, body);
  };
  // Where the drawer is shut, "Use my own profile" opens it.
  document.addEventListener("click", ({target}) => {
    if (target.closest(".st-key-use-own button")) document.querySelector(open)?.click();
  });
}
