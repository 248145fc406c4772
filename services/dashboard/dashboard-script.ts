/**
 * The dashboard's only script, served as its own file. While a notification is open it asks for what changed since its version and puts
 * only changed parts in place; scroll, focus and what was unfolded stay. Without it the page loads anew by itself.
 */
export const DASHBOARD_SCRIPT = `'use strict';
(() => {
  const copy = document.getElementById('copy-id');
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener('click', () => {
      navigator.clipboard.writeText(copy.dataset.copy).then(() => { copy.textContent = 'Copied'; }, () => { copy.textContent = 'Not copied: select it instead'; });
    });
  }
  const live = document.getElementById('live');
  if (!live || live.dataset.open !== '1') return;
  const heard = document.getElementById('live-state');
  const FIRST = Number(live.dataset.every);
  let every = FIRST;
  let tag = live.dataset.tag;
  let signedOut = false;
  const placeOf = (root, node) => (node && node.id && root.contains(node) ? node.id : null);
  // Somebody is about to say why: what he writes is left alone while the same may be done, and else taken along.
  const writing = (section) => [...section.querySelectorAll('input[id]')].filter((one) => one === document.activeElement || one.value !== one.defaultValue);
  const put = (section, part) => {
    const html = part.innerHTML;
    if (section.dataset.was === html) return;
    const fields = section.dataset.hold === undefined ? [] : writing(section);
    if (fields.length > 0 && section.dataset.hold === part.dataset.hold) return;
    if (part.dataset.hold !== undefined) section.dataset.hold = part.dataset.hold;
    section.dataset.was = html;
    const focused = placeOf(section, document.activeElement);
    const unfolded = [...section.querySelectorAll('details[open][id]')].map((one) => one.id);
    section.innerHTML = html;
    for (const id of unfolded) { const one = document.getElementById(id); if (one) one.open = true; }
    for (const { id, value } of fields) { const one = document.getElementById(id); if (one) one.value = value; }
    if (focused) { const one = document.getElementById(focused); if (one) one.focus({ preventScroll: true }); }
  };
  // What somebody looks at stays where it is: what has the focus, or else the part at the top of the window.
  const place = () => {
    const { id } = document.activeElement;
    const focused = id && live.contains(document.activeElement) ? document.activeElement.getBoundingClientRect().top : -1;
    const top = focused >= 0 && focused < innerHeight ? null : [...live.children].filter((one) => one.getBoundingClientRect().top <= 0).at(-1);
    const find = () => (top === null ? document.getElementById(id) : top);
    const before = find() ? find().getBoundingClientRect().top : 0;
    return () => { if (find()) scrollBy(0, find().getBoundingClientRect().top - before); };
  };
  const say = (words) => { if (heard && heard.textContent !== words) heard.textContent = words; };
  const ask = async () => {
    const answer = await fetch(live.dataset.from, { headers: { 'If-None-Match': tag }, cache: 'no-store', credentials: 'same-origin' });
    if (answer.status === 304) return true;
    if (answer.status === 401) { signedOut = true; return false; }
    if (!answer.ok) throw new Error(String(answer.status));
    tag = answer.headers.get('ETag') || tag;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('live');
    if (!fresh) throw new Error('not understood');
    const back = place();
    for (const part of fresh.querySelectorAll('[data-live]')) {
      const section = live.querySelector('[data-live="' + part.dataset.live + '"]');
      if (section) put(section, part);
    }
    back();
    live.dataset.open = fresh.dataset.open;
    return fresh.dataset.open === '1';
  };
  const turn = () => {
    if (document.hidden) { document.addEventListener('visibilitychange', turn, { once: true }); return; }
    ask().then((open) => {
      every = FIRST;
      say(open ? 'Updates by itself.' : signedOut ? 'Signed out: load the page again to go on.' : 'Settled: nothing more happens by itself.');
      if (open) setTimeout(turn, every);
    }, () => {
      every = Math.min(every * 2, 15000);
      say('Not up to date: the dashboard does not answer. Trying again.');
      setTimeout(turn, every);
    });
  };
  for (const section of live.querySelectorAll('[data-live]')) section.dataset.was = section.innerHTML;
  say('Updates by itself.');
  setTimeout(turn, every);
})();
`;
