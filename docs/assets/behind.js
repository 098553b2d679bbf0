// What is behind a number, where its title cannot tell: for a finger and for the keyboard. Without this file the title and the link remain.
(() => {
  if (!("popover" in HTMLElement.prototype)) return;
  const VALUE = ".measured > a, .fact > a";
  const card = document.createElement("div");
  card.id = card.className = "value-card";
  card.popover = "manual";
  card.dataset.searchExclude = "1";
  let shown = null;
  let timer = 0;

  const show = (link) => {
    clearTimeout(timer);
    if (shown === link) return;
    hide();
    shown = link;
    link.dataset.note = link.title;
    link.removeAttribute("title"); // else the browser shows it, too
    link.setAttribute("aria-describedby", card.id);
    const lines = link.dataset.note.split("；").map((text) => Object.assign(document.createElement("p"), { textContent: text }));
    card.replaceChildren(...lines, Object.assign(document.createElement("a"), { href: link.href, textContent: "看这次运行", tabIndex: -1 }));
    if (!card.isConnected) document.body.append(card);
    card.showPopover();
    const at = link.getClientRects()[0];
    const below = at.bottom + card.offsetHeight + 12 < innerHeight || at.top < card.offsetHeight + 12;
    card.style.left = `${scrollX + Math.max(8, Math.min(at.left, document.documentElement.clientWidth - card.offsetWidth - 8))}px`;
    card.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - card.offsetHeight - 6)}px`;
  };
  const hide = () => {
    clearTimeout(timer);
    if (!shown) return;
    shown.title = shown.dataset.note;
    shown.removeAttribute("aria-describedby");
    delete shown.dataset.note;
    shown = null;
    card.hidePopover();
  };
  const later = (action) => {
    clearTimeout(timer);
    timer = setTimeout(action, 200);
  };

  let touched = false;
  addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (!event.target.closest?.(`${VALUE}, #value-card`)) hide();
  });
  addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = event.target.closest?.(VALUE);
    if (link) later(() => show(link));
    else if (event.target.closest?.("#value-card")) clearTimeout(timer);
    else later(hide);
  });
  addEventListener("focusin", (event) => {
    if (!touched && event.target.matches?.(VALUE)) show(event.target);
  });
  addEventListener("focusout", (event) => {
    if (event.target === shown) later(hide);
  });
  addEventListener("keydown", (event) => {
    touched = false;
    if (event.key === "Escape") hide();
  });
  addEventListener(
    "click",
    (event) => {
      const link = event.target.closest?.(VALUE);
      if (!link || !touched || shown === link) return;
      event.preventDefault(); // the first tap tells, the second follows the link
      show(link);
    },
    true,
  );
})();

// How old a record is depends on the day it is read, not on the day the site was built.
for (const time of document.querySelectorAll("time[data-age]")) {
  const [then, now] = [Date.parse(time.dateTime), Date.now()].map((moment) => Math.floor(moment / 86_400_000));
  const days = now - then;
  if (days >= 0) time.append(days === 0 ? "（今天）" : `（${days} 天前）`);
}
