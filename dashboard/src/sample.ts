/** A request as a program would send it. `key` is null for a request without credentials. */
export interface Sample {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The key, or the name of the environment variable that contains it. */
  readonly key: { readonly secret: string } | { readonly variable: string } | null
}

export type Language = 'curl' | 'javascript' | 'python'

export const LANGUAGES: readonly { readonly value: Language; readonly text: string }[] = [
  { value: 'curl', text: 'curl' },
  { value: 'javascript', text: 'JavaScript' },
  { value: 'python', text: 'Python' },
]

/** The request as runnable code: curl in a POSIX shell, JavaScript with fetch, or Python with its standard library. */
export function snippet(language: Language, sample: Sample): string {
  return { curl, javascript, python }[language](sample)
}

function curl({ method, url, headers = {}, body, key }: Sample): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`]
  if (key !== null) {
    const shown = 'secret' in key ? key.secret : `$${key.variable}`
    lines.push(`-H "Authorization: Bearer ${shown}"`)
  }
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`)
  return lines.join(' \\\n  ')
}

/** How a Node or Bun program reads an environment variable. This page has none. */
const NODE_ENVIRONMENT = ['process', 'env'].join('.')

function javascript({ method, url, headers = {}, body, key }: Sample): string {
  const bearer =
    key && ('secret' in key ? `'Bearer ${key.secret}'` : `\`Bearer \${${NODE_ENVIRONMENT}.${key.variable}}\``)
  const sent = [
    ...(bearer === null ? [] : [`    Authorization: ${bearer},`]),
    ...Object.entries(headers).map(([name, value]) => `    ${text(name)}: ${text(value)},`),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
  ]
  return [
    `const response = await fetch(${text(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${text(method)},`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent, '  },']),
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),`]),
    '})',
    'console.log(response.status, await response.json())',
  ].join('\n')
}

function python({ method, url, headers = {}, body, key }: Sample): string {
  const bearer = key && ('secret' in key ? `"Bearer ${key.secret}"` : `"Bearer " + os.environ[${text(key.variable)}]`)
  const sent = [
    ...(bearer === null ? [] : [`        "Authorization": ${bearer},`]),
    ...Object.entries(headers).map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    ...(body === undefined ? [] : ['        "Content-Type": "application/json",']),
  ]
  return [
    `import json${key && 'variable' in key ? ', os' : ''}, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    ...(method === 'GET' ? [] : [`    method=${JSON.stringify(method)},`]),
    ...(sent.length === 0 ? [] : ['    headers={', ...sent, '    },']),
    ...(body === undefined
      ? []
      : [`    data=json.dumps(json.loads(${JSON.stringify(JSON.stringify(body))})).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, json.load(response))',
  ].join('\n')
}

/** Quotes any text as one word of a POSIX shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
}

/** The first request to try: an image search. */
export function firstRequest(key: Sample['key']): Sample {
  return { method: 'GET', url: `${window.location.origin}/apis/v1/websearch/images/search?q=credit+card`, key }
}
