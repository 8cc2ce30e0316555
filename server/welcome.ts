/** What the start prints once it is ready: one line, then what to do next. */
export function welcome(url: string, startedMs: number, isFresh: boolean): string {
  const ready = `Gateway ready at ${url} (${(startedMs / 1000).toFixed(1)} s)`
  const next = isFresh
    ? [
        'Next: sign up, make a key, search.',
        `  curl -c cookies.txt -H 'content-type: application/json' ${url}/api/auth/sign-up/email \\`,
        `    -d '{"name":"Ada","email":"ada@example.com","password":"correct horse battery"}'`,
        `  curl -b cookies.txt -H 'content-type: application/json' ${url}/api/keys -d '{"name":"My first key"}'`,
        `  curl -H "Authorization: Bearer $GATEWAY_API_KEY" '${url}/apis/v1/websearch/images/search?q=credit%20card'`,
      ]
    : [`Try: curl -i '${url}/apis/v1/websearch/images/search?q=credit%20card'`]
  return [ready, ...next, 'Stop with Ctrl-C.', ''].join('\n')
}
