// The two files that pages name: a stylesheet, and a script that posts the token of the address and keeps open pages
// up to date. Pages work without either.

/// The console's files.
package enum ConsoleFiles {
    /// The stylesheet: light and dark, from 320 px, in both directions of writing.
    package static let style = """
        :root { color-scheme: light dark; --line: #767676; --bad: #b00020; --good: #1a6e2e; --soft: #f2f2f2;
          --link: #0b57d0; }
        @media (prefers-color-scheme: dark) {
          :root { --line: #8c8c8c; --bad: #ff8a80; --good: #81c995; --soft: #2a2a2a; --link: #8ab4f8; }
          body { background: #161616; color: #ececec; }
        }
        * { box-sizing: border-box; }
        body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; overflow-wrap: anywhere; }
        main { max-inline-size: 64rem; margin-inline: auto; padding: 1rem; }
        header { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: space-between; padding: .5rem 1rem;
          border-block-end: 1px solid var(--line); }
        header nav { display: flex; gap: 1rem; align-items: center; }
        a { color: var(--link); }
        .skip { position: absolute; inset-inline-start: -100rem; }
        .skip:focus { position: static; }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 0; min-inline-size: 0; }
        .row { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .25rem .75rem; align-items: center;
          padding-block: .75rem; border-block-end: 1px solid var(--soft); }
        .row > input:not([type=checkbox]), .row > select, .row > textarea { grid-column: 1 / -1; inline-size: 100%; }
        .row > input[type=checkbox] { justify-self: start; inline-size: 1.5rem; block-size: 1.5rem; }
        .row label { font-weight: 600; }
        .notes { grid-column: 1 / -1; font-size: .875rem; }
        .notes p { margin: 0; }
        .layer { font-size: .875rem; padding-inline: .5rem; border: 1px solid var(--line); border-radius: 1rem; }
        .layer.signed { background: var(--soft); }
        .wrong { border-inline-start: .25rem solid var(--bad); padding-inline-start: .5rem; }
        .mistake, .state.degraded { color: var(--bad); font-weight: 600; }
        .state.healthy { color: var(--good); font-weight: 600; }
        input, select, textarea, button { font: inherit; min-block-size: 2.5rem; padding: .25rem .5rem;
          border: 1px solid var(--line); border-radius: .25rem; }
        input[type=range] { padding: 0; accent-color: var(--link); }
        .scroll { overflow-x: auto; margin-block: 1rem; }
        table { border-collapse: collapse; font-size: .875rem; }
        caption { text-align: start; font-weight: 600; }
        th, td { text-align: start; padding: .25rem .5rem; border-block-end: 1px solid var(--soft);
          overflow-wrap: normal; }
        dl > div { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
        dt { font-weight: 600; min-inline-size: 7rem; }
        dd { margin: 0; }
        """

    /// The script. It writes texts as texts, and replaces nothing that a person has changed.
    package static let script = """
        "use strict";
        const enter = document.getElementById("enter");
        if (enter && location.hash.length > 1) {
          enter.elements.token.value = location.hash.slice(1);
          history.replaceState(null, "", "/");
          if (!document.getElementById("mistakes")) enter.submit();
        }
        const mistakes = document.getElementById("mistakes");
        if (mistakes && mistakes.querySelector("a")) mistakes.querySelector("a").focus();
        for (const range of document.querySelectorAll("input[type=range]")) {
          const output = document.querySelector(`output[for="${range.id}"]`);
          range.addEventListener("input", () => { output.textContent = range.value; });
        }
        const news = document.getElementById("news");
        const names = { signed: "signed", user: "edited", default: "default" };
        function take(change) {
          const row = [...document.querySelectorAll(".row")].find((row) => row.dataset.key === change.key);
          if (!row) return;
          const layer = row.querySelector(".layer");
          layer.textContent = names[change.layer];
          layer.className = "layer " + change.layer;
          const control = row.querySelector("input:not([type=hidden]), select, textarea");
          const shown = [...row.querySelectorAll("input[type=hidden]")].find((field) => field.name === "b." + change.key);
          const isBox = control.type === "checkbox";
          const present = isBox ? String(control.checked) : control.value;
          const isTouched = document.activeElement === control || (shown && present !== shown.value);
          for (const field of row.querySelectorAll("input, select, textarea")) field.disabled = change.locked;
          if (change.secret || isTouched) return;
          if (isBox) control.checked = change.text === "true"; else control.value = change.text;
          if (control.tagName === "SELECT" && control.value !== change.text) {
            control.add(new Option(change.text, change.text));
            control.value = change.text;
          }
          // A control may write a value in its own way, and that is no change of a person's.
          if (shown) shown.value = isBox ? String(control.checked) : control.value;
          const output = row.querySelector("output");
          if (output) output.textContent = control.value;
          if (news) news.textContent = row.querySelector("label").textContent + " has changed.";
        }
        async function reload(part) {
          const answer = await fetch(location.pathname, { credentials: "same-origin" });
          if (!answer.ok) return;
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          part.replaceChildren(...page.getElementById("live").childNodes);
        }
        for (const part of document.querySelectorAll("[data-events]")) {
          if (!part.dataset.events) continue;
          const stream = new EventSource(part.dataset.events);
          stream.addEventListener("settings", (event) => { for (const change of JSON.parse(event.data)) take(change); });
          stream.addEventListener("device", () => reload(part));
          addEventListener("pagehide", () => stream.close());
        }
        """
}
