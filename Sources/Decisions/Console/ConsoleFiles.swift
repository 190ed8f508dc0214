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
        header nav { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; }
        a { color: var(--link); }
        .skip { position: absolute; inset-inline-start: -100rem; }
        .skip:focus { position: static; }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 0; min-inline-size: 0; }
        .row { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .25rem .75rem; align-items: center;
          padding-block: .75rem; border-block-end: 1px solid var(--soft); }
        .row > input:not([type=checkbox]), .row > select, .row > textarea { grid-column: 1 / -1; inline-size: 100%; }
        .row > input:has(+ .zone) { grid-column: 1; }
        .row > input[type=checkbox] { justify-self: start; inline-size: 1.5rem; block-size: 1.5rem; }
        .title { font-weight: 600; }
        img { max-inline-size: 2rem; max-block-size: 2rem; vertical-align: middle; margin-inline-end: .5rem; }
        .row > .range { grid-column: 1 / -1; display: flex; gap: .5rem; align-items: center; }
        .range > input { flex: 1; min-inline-size: 0; }
        .row > .radio, .row > ul { grid-column: 1 / -1; margin: 0; }
        .radio label { display: flex; gap: .5rem; align-items: center; font-weight: normal; }
        .radio input { min-block-size: 0; }
        .row.center > .title, .row.center > a { text-align: center; }
        .row.right > .title, .row.right > a { text-align: end; }
        .row > .layer { grid-column: 2; grid-row: 1; }
        .row > p, .row > button { grid-column: 1 / -1; margin: 0; }
        .row > .target { font-size: .875rem; }
        .row > .list { grid-column: 1 / -1; }
        .list ol { margin-block: 0 .5rem; }
        .list li > * { margin-inline-end: .5rem; margin-block: .125rem; }
        nav ol { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; margin: 0; }
        .footer { font-size: .875rem; margin-block: .5rem 0; }
        fieldset + fieldset { margin-block-start: 1rem; }
        legend { font-weight: 600; }
        legend h2 { font: inherit; margin: 0; }
        html { scroll-padding-block-start: 4rem; }
        #news[tabindex] { position: sticky; inset-block-start: 0; z-index: 1; background: var(--soft); padding: .5rem;
          font-weight: 600; }
        .notes { grid-column: 1 / -1; font-size: .875rem; }
        .notes p { margin: 0; }
        .notes button { margin-block-start: .25rem; }
        .layer { font-size: .875rem; padding-inline: .5rem; border: 1px solid var(--line); border-radius: 1rem; }
        .layer.signed { background: var(--soft); }
        .wrong { border-inline-start: .25rem solid var(--bad); padding-inline-start: .5rem; }
        @media (prefers-reduced-motion: no-preference) {
          .shake { animation: shake .15s linear 3; }
          @keyframes shake { 25% { transform: translateX(-.25rem); } 75% { transform: translateX(.25rem); } }
        }
        .mistake, .state.degraded { color: var(--bad); font-weight: 600; }
        .state.healthy { color: var(--good); font-weight: 600; }
        input, select, textarea, button { font: inherit; min-block-size: 2.5rem; padding: .25rem .5rem;
          border: 1px solid var(--line); border-radius: .25rem; }
        input[type=range] { padding: 0; accent-color: var(--link); }
        [role=search] { display: flex; gap: .5rem; }
        [role=search] > input { flex: 0 1 20rem; min-inline-size: 0; }
        [role=search] > button { flex: none; }
        details > button { margin-inline-end: .5rem; margin-block-end: .5rem; }
        .secret { border: 1px solid var(--line); border-radius: .5rem; padding: 0 1rem; margin-block: 1rem; }
        .secret code { user-select: all; }
        .code { display: block; inline-size: min(100%, 20rem); block-size: auto; }
        .scroll { overflow-x: auto; margin-block: 1rem; }
        table { border-collapse: collapse; font-size: .875rem; }
        caption { text-align: start; font-weight: 600; }
        th, td { text-align: start; padding: .25rem .5rem; border-block-end: 1px solid var(--soft);
          overflow-wrap: normal; }
        dl > div { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
        dt { font-weight: 600; min-inline-size: 7rem; }
        dd { margin: 0; }
        """

    /// The script. It replaces rows by those of the page as the console makes it now, and no row that a person is at or
    /// has changed.
    package static let script = """
        "use strict";
        const enter = document.getElementById("enter");
        // A browser that is already in does not use the token, so that no address and no history may keep it either.
        function takeToken() {
          const token = location.hash.slice(1);
          if (!/^[0-9a-f]{32}$/i.test(token)) return;
          history.replaceState(null, "", enter ? "/" : location.pathname + location.search);
          if (!enter) return;
          enter.elements.token.value = token;
          if (!document.getElementById("mistakes")) enter.submit();
        }
        takeToken();
        addEventListener("hashchange", takeToken);
        const mistakes = document.getElementById("mistakes");
        if (mistakes && mistakes.querySelector("a")) mistakes.querySelector("a").focus();
        addEventListener("input", ({ target }) => {
          const output = document.querySelector(`output[for="${target.id}"]`);
          if (target.type === "range" && output) output.textContent = target.value;
        });
        const news = document.getElementById("news");
        const rows = (part) => [...part.querySelectorAll(".row")];
        const controls = (row) => [...row.querySelectorAll("input:not([type=hidden]), select, textarea")];
        const state = (row) => JSON.stringify(controls(row).map((control) => [control.checked, control.value]));
        // A control may write a value in its own way, and that is no change of a person's.
        const states = new WeakMap(rows(document).map((row) => [row, state(row)]));
        const isHeld = (row) =>
          row.dataset.typed || row.contains(document.activeElement) || state(row) !== states.get(row);
        function take(form, next) {
          const ids = (part) => rows(part).map((row) => row.id).join();
          const isSame = ids(form) === ids(next);
          const active = document.activeElement;
          const changed = [];
          for (const row of rows(next)) {
            const known = document.getElementById(row.id);
            if (known && isHeld(known)) {
              for (const part of [".layer", ".notes"]) known.querySelector(part)?.replaceWith(row.querySelector(part));
              const isLocked = controls(row).every((control) => control.disabled);
              for (const control of controls(known)) control.disabled = isLocked;
              if (!isSame) row.replaceWith(known);
            } else if (!known || !known.isEqualNode(row)) {
              changed.push(row);
              if (isSame) known.replaceWith(row);
            }
          }
          if (!isSame) form.replaceChildren(...next.childNodes);
          if (active !== document.activeElement) active.focus();
          for (const row of rows(form)) if (!states.has(row)) states.set(row, state(row));
          const titles = changed.map((row) => row.querySelector(".title, a, button")?.textContent);
          if (news && titles.length) news.textContent = `${titles.join(", ")}: changed.`;
        }
        async function load() {
          const answer = await fetch(location.pathname + location.search, { credentials: "same-origin" });
          return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
        }
        let turn = Promise.resolve();
        async function refresh(part) {
          const next = (await load())?.getElementById(part.id);
          if (!next) return;
          if (part.tagName === "FORM") return take(part, next);
          const held = document.activeElement?.id;
          part.replaceChildren(...next.childNodes);
          if (held) document.getElementById(held)?.focus();
        }
        for (const part of document.querySelectorAll("[data-events]")) {
          if (!part.dataset.events) continue;
          const stream = new EventSource(part.dataset.events);
          let isDue = false;
          const changed = () => {
            if (isDue) return;
            isDue = true;
            turn = turn.then(() => { isDue = false; return refresh(part); }).catch(() => {});
          };
          for (const name of ["settings", "device"]) stream.addEventListener(name, changed);
          addEventListener("pagehide", () => stream.close());
        }
        """
}
