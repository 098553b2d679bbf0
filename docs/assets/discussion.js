// Puts giscus in the place of the link below a page, when a reader asks for it. Without JavaScript the link leads to GitHub.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".discussion a[data-repo-id]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const script = document.createElement("script");
  const dark = document.body.dataset.mdColorScheme === "slate";
  const settings = { mapping: "specific", strict: "1", lang: "zh-CN", theme: dark ? "dark" : "light", inputPosition: "top" };
  Object.assign(script.dataset, link.dataset, settings);
  script.src = "https://giscus.app/client.js";
  script.crossOrigin = "anonymous";
  script.onerror = () => location.assign(link.href);
  link.closest(".discussion").replaceWith(script);
});
