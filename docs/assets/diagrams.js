// Diagrams do not shrink with the page, so that a phone shows their text large enough: their frame scrolls. On paper they fit the page.
{
  const initialize = mermaid.initialize;
  mermaid.initialize = (config) =>
    initialize({
      ...config,
      flowchart: { ...config.flowchart, useMaxWidth: false },
      sequence: { ...config.sequence, useMaxWidth: false },
      themeCSS: `${config.themeCSS} @media print { & { max-width: 100%; height: auto; } }`,
    });
}
