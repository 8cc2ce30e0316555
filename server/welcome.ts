/** The message at startup: that the gateway is ready, and what to do next. */
export function welcome(url: string, startedMs: number, isFresh: boolean): string {
  const ready = readyLine(url, startedMs)
  const next = isFresh
    ? [
        'Next: sign up, create a key, search.',
        `  curl -c cookies.txt -H 'content-type: application/json' ${url}/api/auth/sign-up/email \\`,
        `    -d '{"name":"Ada","email":"ada@example.com","password":"correct horse battery"}'`,
        `  curl -b cookies.txt -H 'content-type: application/json' ${url}/api/keys -d '{"name":"My first key"}'`,
        `  curl -H "Authorization: Bearer $GATEWAY_API_KEY" '${url}/apis/v1/websearch/images/search?q=credit%20card'`,
      ]
    : [`Try: curl -i '${url}/apis/v1/websearch/images/search?q=credit%20card'`]
  return [ready, ...next, 'Stop with Ctrl-C.', ''].join('\n')
}

/** That the gateway is ready, in one line. */
export function readyLine(url: string, startedMs: number): string {
  return `Gateway ready at ${url} (${(startedMs / 1000).toFixed(1)} s)`
}

/** The message at startup while there is no operator: how to become it with the one-time token. */
export function claimNotice(url: string, token: string, mayBeFirst: boolean): string {
  const who = mayBeFirst
    ? 'The first account becomes operator if it signs up on this machine. To claim operator rights from elsewhere:'
    : 'This gateway has no operator yet. To claim operator rights:'
  return `${who}\n  sign up, open ${url}/operator and enter this one-time token: ${token}\n`
}
