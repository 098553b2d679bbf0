// What scrolls inside itself, because it is wider than the screen, can be scrolled with the keyboard, too.
{
  const mark = () => {
    for (const frame of document.querySelectorAll(".md-typeset__scrollwrap, .measured-table, .wide, .plot, div.mermaid")) {
      if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
      else frame.removeAttribute("tabindex");
    }
  };
  new ResizeObserver(mark).observe(document.querySelector("article"));
  addEventListener("load", mark);
}
