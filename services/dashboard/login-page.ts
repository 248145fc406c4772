import { escapeHtml } from '../../shared/http/escape-html.ts';
import { BARE, page } from './page.ts';

export interface LoginView { token: string; next: string; name?: string; problem?: string | undefined }

/** The login form; it works without script. */
export const loginPage = ({ token, next, name = '', problem }: LoginView): string => page('Sign in', `<h1>Sign in</h1>
${problem === undefined ? '' : `<p class="problem" id="login-problem" role="alert">${escapeHtml(problem)}</p>`}
<form method="post" action="/login" class="reason">
<input type="hidden" name="token" value="${escapeHtml(token)}"><input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="name">Name</label>
<input id="name" name="name" required maxlength="64" autocomplete="username" autocapitalize="none" spellcheck="false" value="${escapeHtml(name)}"${name === '' ? ' autofocus' : ''}${problem === undefined ? '' : ' aria-describedby="login-problem"'}>
<label for="password">Password</label>
<input id="password" name="password" type="password" required autocomplete="current-password"${name === '' ? '' : ' autofocus'}${problem === undefined ? '' : ' aria-describedby="login-problem"'}>
<p class="buttons"><button type="submit">Sign in</button></p>
</form>
<p class="soft">Whoever runs this deployment gives out names and passwords: <code>tocsin operator add</code>, <code>tocsin operator set-password</code>.</p>`, '', BARE);
