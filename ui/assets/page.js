// What every page has: mounted once a visit (ui/navigation.py), it stays while the tab is open.
const KEPT = "profet-upload";
const isReloaded = () =>
  Boolean(sessionStorage.getItem(KEPT)) && performance.getEntriesByType("navigation")[0]?.type === "reload";

let maxMb = Infinity;

export default function mounted({ data, setStateValue }) {
  maxMb = data.max_mb;
  // Where no bars come, such as beside an error.
  setTimeout(() => document.getElementById("first-paint")?.remove(), 3000);
  if (isReloaded() && !mounted.once) {
    mounted.once = true;
    setStateValue("reloaded", true);
  }
}

// A changed setting is one step back once it has settled; what the page itself writes replaces its address.
{
  const SETTLED_MS = 1000, push = history.pushState.bind(history);
  let isActed = false, writtenAt = -SETTLED_MS;
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => (isActed = true), true);
  addEventListener("popstate", () => (isActed = false), true);
  history.pushState = (state, unused, url) => {
    const isSamePage = url != null && new URL(url, location.href).pathname === location.pathname, now = performance.now();
    const isStep = !isSamePage || (isActed && now - writtenAt > SETTLED_MS);
    [isActed, writtenAt] = [false, isSamePage ? now : writtenAt];
    return isStep ? push(state, unused, url) : history.replaceState(state, unused, url);
  };
}

// Copy link and PNG of ui/exports.py: in the browser alone, so that a click asks the server for nothing.
(() => {
  const say = (text, more) => {
    let status = document.querySelector(".profet-status");
    if (!status) {
      status = document.createElement("div");
      status.className = "profet-status";
      status.setAttribute("role", "status");
      document.body.append(status);
    }
    status.textContent = text;
    if (more) status.append(more);
    clearTimeout(say.timer);
    say.timer = setTimeout(() => (status.textContent = ""), more ? 15000 : 4000);
  };

  const copyText = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // Without HTTPS a browser has no clipboard but this one.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (!copied) throw new Error("refused");
  };

  const copyLink = async () => {
    const given = new URL(location.href).searchParams, share = document.querySelector(".st-key-custom_share_profile input");
    const without = ["upload", "paste"].includes(given.get("source")) && !given.has("profile");
    const include = Object.assign(document.createElement("button"), { type: "button", textContent: "Include my profile" });
    include.onclick = async () => {
      share.click();
      for (let tries = 0; tries < 100 && !new URL(location.href).searchParams.has("profile"); tries++) {
        await new Promise((done) => setTimeout(done, 100));
      }
      copyLink();
    };
    try {
      await copyText(location.href);
      const words = given.has("profile") ? "Link copied, with your profile." : "Link copied.";
      say(without ? "Link copied. It does not include your profile." : words, without && share && !share.disabled && include);
    } catch {
      prompt("Copy this link", location.href);
    }
  };

  // A picture has no access to the page's fonts: without them its letters are wider, and names would be cut.
  const fontRules = async () => {
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const faces = rules.filter((rule) => rule instanceof CSSFontFaceRule && /Source Sans/.test(rule.cssText));
    const read = faces.map(async (face) => {
      const [, address] = face.cssText.match(/url\("?([^")]+)"?\)/);
      const blob = await (await fetch(new URL(address, face.parentStyleSheet.href ?? location.href))).blob();
      const data = await new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.readAsDataURL(blob);
      });
      return face.cssText.replace(/url\([^)]+\)/, `url("${data}")`);
    });
    return (await Promise.all(read)).join("\n");
  };

  const textsOf = (element) => {
    const found = [], walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      found.push({ text: node.textContent, color: getComputedStyle(node.parentElement).color });
    }
    return found;
  };

  const MARGIN = 16, LINE = 24, SCALE = 2;

  const savePicture = async (name) => {
    const main = document.querySelector("[data-testid=stMain]");
    const plots = [...main.querySelectorAll(".js-plotly-plot, .profet-bars")];
    if (!plots.length) return say("No chart to save");
    const boxes = plots.map((plot) => plot.getBoundingClientRect());
    const left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
    const size = [
      Math.max(...boxes.map((box) => box.right)) - left, Math.max(...boxes.map((box) => box.bottom)) - top,
    ].map(Math.ceil);
    const drawn = plots.flatMap((plot, place) =>
      [...plot.querySelectorAll(".main-svg")].map((svg) => {
        const copy = svg.cloneNode(true);
        copy.setAttribute("x", boxes[place].left - left);
        copy.setAttribute("y", boxes[place].top - top);
        copy.setAttribute("color", getComputedStyle(svg).color);
        return new XMLSerializer().serializeToString(copy);
      })
    );
    const picture = new Image();
    picture.src = "data:image/svg+xml," + encodeURIComponent(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0] * SCALE}" height="${size[1] * SCALE}" ` +
      `viewBox="0 0 ${size.join(" ")}"><style>${await fontRules()}</style>${drawn.join("")}</svg>`
    );
    await picture.decode();
    const style = getComputedStyle(document.querySelector("[data-testid=stApp]"));
    const line = (selector, font) => {
      const element = main.querySelector(selector);
      return element ? [{ texts: textsOf(element), font: `${font} ${style.fontFamily}` }] : [];
    };
    const above = [...line("h1", "600 20px"), ...line(".st-key-shown p", "14px")];
    const below = line(".st-key-legend p", "14px");
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    const width = ({ texts, font }) => {
      pen.font = font;
      return pen.measureText(texts.map(({ text }) => text).join("")).width;
    };
    const widest = Math.max(size[0], ...[...above, ...below].map(width));
    canvas.width = SCALE * (widest + 2 * MARGIN);
    canvas.height = SCALE * (size[1] + LINE * (above.length + below.length) + 2 * MARGIN);
    pen.fillStyle = style.backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.scale(SCALE, SCALE);
    const write = (lines, y) =>
      lines.forEach(({ texts, font }, number) => {
        let x = MARGIN;
        pen.font = font;
        for (const { text, color } of texts) {
          pen.fillStyle = color;
          pen.fillText(text, x, y + LINE * (number + 0.75));
          x += pen.measureText(text).width;
        }
      });
    write(above, MARGIN);
    pen.drawImage(picture, MARGIN, MARGIN + LINE * above.length, ...size);
    write(below, MARGIN + LINE * above.length + size[1]);
    const blob = await new Promise((done) => canvas.toBlob(done));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  document.addEventListener(
    "click",
    (event) => {
      const box = event.target.closest?.("[class*=st-key-copy-link], [class*=st-key-picture], .st-key-use-own");
      if (!box || !event.target.closest("button")) return;
      const [, key] = box.className.match(/st-key-(\S+)/);
      if (key === "use-own") return document.querySelector("[data-testid=stExpandSidebarButton]")?.click();
      event.stopImmediatePropagation();
      if (key.startsWith("copy-link")) copyLink();
      else savePicture(key.replace("picture-", "")).catch(() => say("The picture could not be made"));
    },
    true
  );
})();

// Uploads: their percentage in the main area, the phone's drawer, and a mark that this tab had one.
{
  const open = "[data-testid=stExpandSidebarButton]", shut = "[data-testid=stSidebarCollapseButton] button";
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
        if (document.querySelector(".profet-upload")?.textContent.startsWith("Uploading ")) say("");
        sessionStorage.setItem(KEPT, "1");
        if (innerWidth < 768) document.querySelector(shut)?.click();
      });
    }
    return send.call(this, body);
  };
  // A file too large is refused in words; Streamlit would show a red icon.
  const fitting = files => {
    const large = files.filter(file => file.size > maxMb * 2 ** 20);
    if (large.length) setTimeout(say, 20000, "");
    if (large.length) say(large.map(({name, size}) => `${name} is ${(size / 2 ** 20).toFixed(1)} MB; the limit is ${maxMb} MB. ` +
      "Reduce it with profet convert, or zip it.").join(" "));
    return files.filter(file => !large.includes(file));
  };
  const put = (files, input) => {
    const given = new DataTransfer();
    for (const file of input.multiple ? files : files.slice(0, 1)) given.items.add(file);
    input.files = given.files;
    input.dispatchEvent(new Event("change", {bubbles: true}));
  };
  addEventListener("change", event => {
    const {target} = event;
    if (target.type !== "file" || !target.files.length) return;
    const files = [...target.files], kept = fitting(files);
    if (kept.length === files.length) return;
    event.stopImmediatePropagation();
    target.value = "";
    if (kept.length) put(kept, target);
  }, true);
  // A file may be dropped anywhere: it goes to the field beneath, else to that for profiles, which Upload shows.
  const profiles = () => document.querySelector("input[type=file][multiple]");
  const dropped = async (every, input) => {
    const files = fitting(every);
    if (!files.length) return;
    if (!input) {
      const upload = [...document.querySelectorAll(".st-key-source [role=radio]")].find(one => one.textContent === "Upload");
      upload?.click();
      for (let tries = 0; upload && !input && tries < 200; tries++) {
        await new Promise(done => setTimeout(done, 100));
        input = profiles();
      }
    }
    if (input) put(files, input);
    else say("Open Predict to upload a profile.");
  };
  const target = Object.assign(document.createElement("div"), {className: "profet-drop", textContent: "Drop your profile"});
  let hiding;
  const hasFiles = event => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", event => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.append(target);
    clearTimeout(hiding);
    hiding = setTimeout(() => target.remove(), 300);
  }, true);
  addEventListener("drop", event => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    target.remove();
    const own = event.target.closest("[data-testid=stFileUploader]")?.querySelector("input[type=file]");
    dropped([...event.dataTransfer.files], own ?? profiles());
  }, true);
  // Where the drawer is shut, "Use my own profile" opens it.
  document.addEventListener("click", ({target}) => {
    if (target.closest(".st-key-use-own button")) document.querySelector(open)?.click();
  });
}
