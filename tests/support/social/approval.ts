/** The fields of the consent form of the sandbox, as a browser would send them. */
function fieldsOf(page: string): URLSearchParams {
  const fields = new URLSearchParams()
  for (const [, name, value] of page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g))
    fields.append(unescaped(name ?? ''), unescaped(value ?? ''))
  return fields
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}

/**
 * Does on the sandbox's consent page what a person does in a browser, scripts not needed: reads the page, sends its form.
 * Gives the query with which the browser is sent back.
 */
export async function approval(
  answer: (request: Request) => Promise<Response>,
  authUrl: string,
  decision: 'approve' | 'deny',
  user = '1001',
): Promise<URLSearchParams> {
  const shown = await answer(new Request(authUrl))
  if (shown.status !== 200) throw new Error(`the consent page answers ${shown.status}`)
  const form = fieldsOf(await shown.text())
  form.set('user', user)
  form.set('decision', decision)
  const back = await answer(
    new Request(authUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: form.toString(),
    }),
  )
  const location = back.headers.get('location')
  if (back.status !== 303 || !location) throw new Error(`the consent form answers ${back.status}`)
  return new URL(location).searchParams
}
