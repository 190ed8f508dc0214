// The two files that pages name: a stylesheet, and a script that posts the token of the address and keeps open pages
// up to date. Pages work without either.

package enum ConsoleFiles {
    /// The stylesheet: light and dark, from 320 px, in both directions of writing.
    package static let style = """
        :root { color-scheme: light dark; --line: #767676; --bad: #b00020; --good: #1a6e2e; --soft: #f2f2f2;
          --link: #0b57d0; --page: #fff; scroll-padding-block: 4rem; }
        @media (prefers-color-scheme: dark) {
          :root { --line: #8c8c8c; --bad: #ff8a80; --good: #81c995; --soft: #2a2a2a; --link: #8ab4f8;
            --page: #161616; }
          body { color: #ececec; }
        }
        * { box-sizing: border-box; }
        body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; overflow-wrap: anywhere;
          background: var(--page); }
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
        .row > input:has(+ .zone), .row > input:has(+ .bounds) { grid-column: 1; }
        :is(input, textarea)[readonly], button[aria-disabled] { background: var(--soft); }
        .row > input[type=checkbox] { justify-self: start; inline-size: 1.5rem; block-size: 1.5rem; }
        .row > input[id$="-number"] { justify-self: start; inline-size: 8rem; }
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
        #news[tabindex] { position: sticky; inset-block-start: 0; z-index: 1; background: var(--soft); padding: .5rem;
          font-weight: 600; }
        .save, #stale:not(:empty) { position: sticky; margin: 0; padding-block: .5rem; background: var(--page); }
        .save { inset-block-end: 0; border-block-start: 1px solid var(--line); }
        #stale { inset-block-start: 0; color: var(--bad); font-weight: 600; }
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
        .question > summary { inline-size: fit-content; padding-block: .25rem; cursor: pointer; }
        .question > p { margin-block: .25rem; }
        .list .question { display: inline-block; vertical-align: top; }
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

    /// The script. It replaces rows by those of the page as the console makes it now, and keeps a control that a person
    /// is at or has changed, unless it is locked now. It says when the page is not up to date, and asks before a page
    /// with unsaved text is left. A page has one connection at a time: a browser has six for one console, and each page
    /// that is open, loads itself or sends a form needs one.
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
          const ending = "-number";
          if (target.type === "range") {
            const number = document.getElementById(target.id + ending);
            if (number) number.value = target.value;
          } else if (target.id.endsWith(ending)) {
            const slider = document.getElementById(target.id.slice(0, -ending.length));
            // A slider makes a number of its own of any other text.
            if (slider && target.value.trim() && Number.isFinite(Number(target.value))) slider.value = target.value;
          }
        });
        const part = document.querySelector("[data-events]");
        // A screen reader reads a text that comes into a region, and not one that comes with it.
        function region(id, next) {
          const known = document.getElementById(id);
          if (known || !next) return known;
          const made = document.createElement("p");
          made.id = id;
          made.setAttribute("role", "status");
          next.before(made);
          return made;
        }
        const news = region("news", part?.closest("form"));
        const stale = region("stale", part && document.getElementById("main").firstElementChild);
        const rows = (part) => [...part.querySelectorAll(".row")];
        const controls = (row) => [...row.querySelectorAll("input:not([type=hidden]), select, textarea")];
        const state = (row) => JSON.stringify(controls(row).map((control) => [control.checked, control.value]));
        // A control may write a value in its own way, and that is no change of a person's.
        const states = new WeakMap(rows(document).map((row) => [row, state(row)]));
        const isTyped = (row) => row.dataset.typed === "yes" || state(row) !== states.get(row);
        const isHeld = (row) => isTyped(row) || row.contains(document.activeElement);
        const isLocked = (row) => controls(row).length > 0 && controls(row).every((control) => control.readOnly);
        const shown = (row) =>
          row.querySelector("input[type=hidden]:is([name^='b'], [name^='d.'])")?.value ?? "";
        function text(row) {
          const control = controls(row).find(({ type, checked }) => type !== "radio" || checked);
          if (!control) return "";
          if (control.type === "checkbox") return control.checked ? "on" : "off";
          const choice = control.type === "radio" ? control.parentNode : control.selectedOptions?.[0];
          return choice ? choice.textContent : control.value;
        }
        const isField = (row) => controls(row).some(({ name }) => name);
        const title = (row) => row.querySelector(".title, a, button")?.textContent;
        const mark = (row) => row.dataset.key ?? title(row);
        // Rows by their marks: another release of the app has its entries in other places. Of several the field counts.
        function byMark(all) {
          const found = new Map();
          for (const row of all) {
            const known = found.get(mark(row));
            if (!known || (isField(row) && !isField(known))) found.set(mark(row), row);
          }
          return found;
        }
        // Ids have the number of the entry, and so have the names of a date's further field.
        function place(known, number, further) {
          const ids = ["id", "for", "list", "aria-describedby", "aria-labelledby"];
          for (const it of [known, ...known.querySelectorAll("*")]) {
            for (const { name, value } of [...it.attributes]) {
              if (ids.includes(name)) it.setAttribute(name, value.replace(/\\b([rf])-\\d+/g, `$1-${number}`));
              if (name === "name") it.setAttribute(name, value.replace(/^([bdnsv])\\d*\\./, `$1${further}.`));
            }
          }
        }
        function placeAs(row, known) {
          const [name, before] = [row, known].map((it) => controls(it)[0]?.name ?? "");
          if (known.id === row.id && name === before) return;
          place(known, row.id.slice(2), name.match(/^v(\\d*)\\./)?.[1] ?? "");
        }
        // The control stays, and the rest of the row is that of now. True: its value is another one than before.
        function keep(known, row) {
          placeAs(row, known);
          const before = known.dataset.now ?? shown(known);
          const mistake = known.dataset.typed && known.querySelector(".mistake");
          known.classList.remove("gone");
          for (const css of [".layer", ".notes"]) {
            const next = row.querySelector(css);
            if (next) known.querySelector(css)?.replaceWith(next);
          }
          const notes = known.querySelector(".notes");
          // The text in the field is the one that was refused.
          if (mistake && !notes.querySelector(".mistake")) notes.append(mistake);
          if (shown(row) !== shown(known)) {
            const note = document.createElement("p");
            note.textContent = `Changed elsewhere: ${text(row) || "empty"}. Saving another value here replaces it.`;
            notes.append(note);
          }
          known.dataset.now = shown(row);
          return shown(row) !== before;
        }
        // The links of the mistakes go with the rows that they lead to, also to one that is gone for a while.
        const links = [...(mistakes?.querySelectorAll("a[href^='#']") ?? [])];
        const ways = links.map((link) => [link, document.querySelector(link.hash)?.closest(".row")])
          .flatMap(([link, row]) => (row ? [[link, link.hash[1], mark(row)]] : []));
        function lead(form) {
          const all = byMark(rows(form));
          for (const [link, kind, to] of ways) link.setAttribute("href", `#${kind}-${all.get(to)?.id.slice(2) ?? ""}`);
        }
        // A question that a person has opened is no change, nor is another number of a row that a link leads to.
        function isSameRow(known, row, numbers) {
          const closed = known.cloneNode(true);
          placeAs(row, closed);
          for (const link of closed.querySelectorAll("a[href^='#']")) {
            const to = (all, kind, number) => `#${kind}-${numbers.get(number) ?? ""}`;
            link.setAttribute("href", link.getAttribute("href").replace(/^#([rf])-(\\d+)$/, to));
          }
          for (const part of closed.querySelectorAll("details[open]")) part.removeAttribute("open");
          return closed.isEqualNode(row);
        }
        // Behind the numbers of all entries (LIM-119).
        let goneNumber = 2048;
        // A row with a typed text, which the page has no more: it stands behind the others until a person is done. Its
        // fields have names of their own, as another row may have its key by now.
        function leaveBehind(row) {
          const number = `${goneNumber++}`;
          place(row, number, number);
          row.classList.add("gone");
          const note = document.createElement("p");
          note.textContent = "This row is not on the page now. Nothing is saved while its text is changed.";
          row.querySelector(".notes")?.replaceChildren(note);
        }
        function take(form, next) {
          const shape = (part) =>
            [...part.querySelectorAll(".row:not(.gone), fieldset > details, .save")]
              .map((it) => (it.id ? it.id + it.dataset.key : it.textContent)).join();
          const isSame = shape(form) === shape(next);
          const active = document.activeElement;
          const held = active?.closest(".row");
          const titles = { "changed": [], "changed elsewhere, and not here": [],
            "locked now, and what was typed is dropped": [], "not on the page now, and kept below": [] };
          const [before, now] = [form, next].map((part) => byMark(rows(part)));
          const number = (row) => row?.id.slice(2);
          const numbers = new Map([...now].map(([mark, row]) => [number(before.get(mark)), number(row)]));
          const gone = rows(form).filter((row) => isField(row) && isTyped(row) && !now.has(mark(row)));
          for (const row of gone.filter((row) => !row.matches(".gone"))) {
            titles["not on the page now, and kept below"].push(title(row));
            leaveBehind(row);
          }
          for (const row of rows(next)) {
            const there = document.getElementById(row.id);
            const same = before.get(mark(row));
            const known = isSame ? there : now.get(mark(row)) === row ? same
              : there && there !== same && mark(there) === mark(row) ? there : null;
            if (known?.hasAttribute("tabindex")) row.tabIndex = -1;
            if (known && isHeld(known) && !isLocked(known) && (isField(row) || !isField(known))) {
              if (keep(known, row)) titles["changed elsewhere, and not here"].push(title(row));
              if (!isSame) row.replaceWith(known);
            } else if (!known || !isSameRow(known, row, numbers)) {
              const isDropped = known && isTyped(known);
              titles[isDropped ? "locked now, and what was typed is dropped" : "changed"].push(title(row));
              if (isSame) known.replaceWith(row);
            }
          }
          if (!isSame) {
            form.replaceChildren(...next.childNodes);
            for (const row of gone) form.insertBefore(row, form.querySelector(".save"));
            lead(form);
          }
          if (active !== document.activeElement) active.focus();
          const row = held && !held.isConnected && now.get(mark(held));
          if (row && row.isConnected) {
            row.tabIndex = -1;
            row.addEventListener("blur", () => row.removeAttribute("tabindex"), { once: true });
            row.focus();
          }
          for (const row of rows(form)) if (!states.has(row)) states.set(row, state(row));
          const told = Object.entries(titles).filter(([, of]) => of.length > 0);
          if (told.length) news.textContent = told.map(([what, of]) => `${of.join(", ")}: ${what}.`).join(" ");
        }
        async function refresh(signal) {
          const answer = await fetch(location.pathname + location.search, { credentials: "same-origin", signal });
          if (!answer.ok) throw new Error(answer.statusText);
          const next = new DOMParser().parseFromString(await answer.text(), "text/html");
          const made = next.getElementById(part.id);
          part.dataset.events = made.dataset.events;
          const facts = next.getElementById("facts");
          if (facts) document.getElementById("facts")?.replaceWith(facts);
          if (part.matches("form")) return take(part, made);
          const held = document.activeElement?.id;
          part.replaceChildren(...made.childNodes);
          if (held) document.getElementById(held)?.focus();
        }
        // Why the page may be old: by its stream, and because it could not be loaded again.
        const reasons = { stream: "", load: "" };
        let since = "";
        function say(what, reason) {
          reasons[what] = reason;
          const why = reasons.stream || reasons.load;
          since = why && (since || new Date().toLocaleTimeString());
          const line = why && `Not up to date since ${since}: ${why}`;
          if (stale.textContent !== line) stale.textContent = line;
        }
        const patience = 30000;
        const silence = "the console does not answer.";
        // The running app has not answered; when it does, the mark of the page is the same.
        const isPassing = () => document.querySelector("#running[data-passing]") !== null;
        // The state of the page's one connection, a stream or a load. Each event changes it and has `decide` act on it.
        let stream = null;
        let loading = null;
        let isLeaving = false;
        // When the page is loaded again, and the time before which it is not (LIM-126).
        let due = Infinity;
        let rest = 0;
        let pause = 1000;
        let next, late, back;
        // Nothing else begins or ends a connection. None is there while nobody sees the page, or it is left: a form
        // that it has sent needs it.
        function decide() {
          clearTimeout(next);
          if (document.hidden || isLeaving) {
            loading?.abort();
            loading = null;
            unfollow();
            if (isLeaving) expectAnswer();
          } else if (!loading) {
            const wait = due - performance.now();
            if (wait <= 0) return loadAgain();
            if (due < Infinity) next = setTimeout(decide, wait);
            if (!stream && !reasons.load) follow();
          }
        }
        // The page is due after a pause: not all pages at once, and not for ever at this pace.
        function retry() {
          due = performance.now() + pause * (1 + Math.random());
          pause = Math.min(2 * pause, 30000);
        }
        function unfollow() {
          stream?.close();
          stream = null;
          clearTimeout(late);
        }
        function expectAnswer() {
          clearTimeout(late);
          late = setTimeout(() => say("stream", silence), patience);
        }
        // From the mark of the page that is shown: the first event says what it has missed.
        function follow() {
          const own = stream = new EventSource(part.dataset.events);
          expectAnswer();
          own.addEventListener("open", () => {
            clearTimeout(late);
            if (!isPassing()) pause = 1000;
          });
          for (const name of ["settings", "device"]) own.addEventListener(name, () => {
            say("stream", "");
            due = rest;
            decide();
          });
          own.addEventListener("current", () => say("stream", ""));
          own.addEventListener("silent", ({ data }) => say("stream", `${data}.`));
          own.addEventListener("error", () => {
            say("stream", silence);
            // The console has refused it, and the browser asks no more: the page follows by loads until one is taken.
            if (own.readyState === EventSource.CLOSED) retry();
            decide();
          });
        }
        async function loadAgain() {
          unfollow();
          const own = loading = new AbortController();
          setTimeout(() => own.abort(), patience);
          const why = await refresh(own.signal).then(() => "", () => "the page cannot be loaded again.");
          // One that was ended is still due.
          if (loading !== own) return;
          loading = null;
          rest = performance.now() + 500;
          due = Infinity;
          if (!why) since = "";
          say("load", why);
          if (why || isPassing()) retry();
          decide();
        }
        function setLeaving(value) {
          clearTimeout(back);
          isLeaving = value;
          decide();
        }
        const stay = () => setLeaving(false);
        if (part) {
          if (isPassing()) retry();
          decide();
          addEventListener("visibilitychange", decide);
          addEventListener("pagehide", () => setLeaving(true));
          addEventListener("pageshow", ({ persisted }) => { if (persisted) stay(); });
          // A person stays, or has given up a form; not all browsers say so.
          window.navigation?.addEventListener("navigateerror", stay);
        }
        // A typed text is lost with the page, unless its own form sends it or a person has chosen Cancel.
        let isMeant = false;
        let isSent = false;
        addEventListener("submit", ({ target }) => {
          isMeant = target.matches("#values, #draft");
          isSent = true;
        });
        addEventListener("click", ({ target }) => { if (target.closest("#draft > p a")) isMeant = true; });
        addEventListener("beforeunload", (event) => {
          const isAsked = !isMeant && rows(document).some(isTyped);
          if (isAsked) event.preventDefault();
          // The answer to a form takes its time (LIM-127), and needs the connection.
          const wait = isSent && !isAsked ? 2 * patience : 1000;
          isMeant = isSent = false;
          if (!part) return;
          setLeaving(true);
          back = setTimeout(stay, wait);
        });
        """
}
