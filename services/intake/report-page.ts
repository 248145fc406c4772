import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { Site } from './page.ts';
import { page } from './page.ts';

/** What the last step came to; the same words whether or not there is such a link. */
export type ReportNotice = 'code_asked' | 'not_opened' | null;

const NOTICES: Readonly<Record<Exclude<ReportNotice, null>, { heading: string; text: string }>> = {
  code_asked: { heading: 'If this link is good, a code is on its way', text: 'It comes by the other way than the link: to your phone if the link came by email, to your email if it came to your phone. It is good for 10 minutes, and once. A code that was just sent is not sent again.' },
  not_opened: { heading: 'That did not open it', text: 'The link or the code is wrong, used or expired. Ask for another code, and type it as it came.' },
};

/** The page behind a link to a report. It is the same for every link, also for one that leads nowhere, and showing it uses up nothing. */
export const reportPage = (site: Site, token: string, notice: ReportNotice): string => {
  const base = escapeHtml(`${site.basePath}/reports/${encodeURIComponent(token)}`);
  const told = notice === null ? '' : `<div class="card" role="status"><p class="state${notice === 'not_opened' ? ' bad' : ''}">${NOTICES[notice].heading}</p><p>${NOTICES[notice].text}</p></div>`;
  return page(site, {
    title: 'Your report', header: 'Account reports',
    main: `<h1>Your report</h1>${told}
<form class="card" method="post" action="${base}/code"><p>To open your report you need this link and a code. The code goes to you by the other way than the link did.</p>
<button type="submit">Send me a code</button></form>
<form class="card" method="post" action="${base}/open"><div><label for="code">The code, six digits</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required></div>
<button type="submit">Open the report</button></form>
<p class="soft next">We never ask for this code in any other place. Keep the link to yourself.</p>`,
  });
};
