/** A request as a program would send it. `key` is null for a request without credentials. */
export interface Sample {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The body, where it is a form. */
  readonly form?: SentForm
  /** The key, or the name of the environment variable that contains it. */
  readonly key: { readonly secret: string } | { readonly variable: string } | null
}

export const FORM_TYPES = ['multipart/form-data', 'application/x-www-form-urlencoded'] as const
export type FormType = (typeof FORM_TYPES)[number]

export interface SentForm {
  readonly type: FormType
  readonly fields: readonly (readonly [string, string | File])[]
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

function curl({ method, url, headers = {}, body, form, key }: Sample): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`]
  if (key !== null) {
    const shown = 'secret' in key ? key.secret : `$${key.variable}`
    lines.push(`-H "Authorization: Bearer ${shown}"`)
  }
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`)
  for (const [name, value] of form?.fields ?? []) lines.push(curlField(form?.type, name, value))
  return lines.join(' \\\n  ')
}

function curlField(type: FormType | undefined, name: string, value: string | File): string {
  if (typeof value !== 'string') return `-F ${quoted(`${name}=@${value.name}`)}`
  return type === 'multipart/form-data'
    ? `--form-string ${quoted(`${name}=${value}`)}`
    : `--data-urlencode ${quoted(`${name}=${value}`)}`
}

/** How a Node or Bun program reads an environment variable. This page has none. */
const NODE_ENVIRONMENT = ['process', 'env'].join('.')

function javascript({ method, url, headers = {}, body, form, key }: Sample): string {
  const bearer =
    key && ('secret' in key ? `'Bearer ${key.secret}'` : `\`Bearer \${${NODE_ENVIRONMENT}.${key.variable}}\``)
  const sent = [
    ...(bearer === null ? [] : [`    Authorization: ${bearer},`]),
    ...Object.entries(headers).map(([name, value]) => `    ${text(name)}: ${text(value)},`),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
  ]
  const isMultipart = form?.type === 'multipart/form-data'
  const fields = (form?.fields ?? []).map(([name, value]) =>
    typeof value === 'string'
      ? `form.append(${text(name)}, ${text(value)})`
      : `form.append(${text(name)}, await openAsBlob(${text(value.name)}), ${text(value.name)})`,
  )
  return [
    ...(form?.fields.some(([, value]) => typeof value !== 'string')
      ? ["import { openAsBlob } from 'node:fs'", '']
      : []),
    ...(form ? [`const form = new ${isMultipart ? 'FormData' : 'URLSearchParams'}()`, ...fields] : []),
    `const response = await fetch(${text(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${text(method)},`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent, '  },']),
    ...(form ? ['  body: form,'] : []),
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),`]),
    '})',
    'console.log(response.status, await response.json())',
  ].join('\n')
}

function python(sample: Sample): string {
  const { method, url, body, form, key } = sample
  if (form) return pythonForm(sample, form)
  const sent = [
    ...pythonHeaders(sample),
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

/** Python's standard library writes no multipart forms, so this uses requests. */
function pythonForm(sample: Sample, { type, fields }: SentForm): string {
  const { method, url, key } = sample
  const parts = fields.map(([name, value]) => {
    if (typeof value !== 'string') return `(${JSON.stringify(name)}, open(${JSON.stringify(value.name)}, "rb"))`
    const shown = JSON.stringify(value)
    return `(${JSON.stringify(name)}, ${type === 'multipart/form-data' ? `(None, ${shown})` : shown})`
  })
  const sent = pythonHeaders(sample)
  return [
    ...(key && 'variable' in key ? ['import os', ''] : []),
    'import requests',
    '',
    'response = requests.request(',
    `    ${JSON.stringify(method)},`,
    `    ${JSON.stringify(url)},`,
    ...(sent.length === 0 ? [] : ['    headers={', ...sent, '    },']),
    `    ${type === 'multipart/form-data' ? 'files' : 'data'}=[${parts.join(', ')}],`,
    ')',
    'print(response.status_code, response.json())',
  ].join('\n')
}

/** The lines of the key and of the headers, for a dictionary. */
function pythonHeaders({ headers = {}, key }: Sample): readonly string[] {
  const bearer = key && ('secret' in key ? `"Bearer ${key.secret}"` : `"Bearer " + os.environ[${text(key.variable)}]`)
  return [
    ...(bearer === null ? [] : [`        "Authorization": ${bearer},`]),
    ...Object.entries(headers).map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
  ]
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
