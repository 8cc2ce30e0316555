import { member } from '../../../../../server/core/json.ts'
import type { ApiDetails, ApiImport } from '../../../api/apis.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { type AuthErrors, type AuthValues, authValues, toAuth, validateAuth } from './auth-values.ts'
import { type PriceErrors, type PriceValues, priceValues, toPrice, validatePrice } from './price-values.ts'

/** The beginning of a YAML document, where its title and servers are. */
const MAX_HEAD = 50_000

export const SOURCES = ['file', 'url', 'text'] as const

/** The values of the form of an import as entered. */
export interface ImportValues {
  readonly source: (typeof SOURCES)[number]
  readonly document: string
  readonly fileName: string
  readonly url: string
  readonly name: string
  readonly baseUrl: string
  readonly auth: AuthValues
  readonly price: PriceValues
}

export interface ImportErrors {
  readonly document?: string
  readonly url?: string
  readonly name?: string
  readonly baseUrl?: string
  readonly auth?: AuthErrors
  readonly price?: PriceErrors
}

export function importValues(existing: ApiDetails | null): ImportValues {
  return {
    source: 'file',
    document: '',
    fileName: '',
    url: '',
    name: existing?.name ?? '',
    baseUrl: existing?.base_url ?? '',
    auth: authValues(existing ? 'keep' : 'none'),
    price: priceValues(null),
  }
}

/** The errors of the form, by field. Whether there is a document is checked where it is read. */
export function validateImport({ name, baseUrl, auth, price }: ImportValues): ImportErrors {
  const [authErrors, priceErrors] = [validateAuth(auth), validatePrice(price)]
  return {
    ...(!/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name.trim()) && { name: TEXT.nameWrong }),
    ...(!isHttpUrl(baseUrl) && { baseUrl: TEXT.baseUrlWrong }),
    ...(Object.keys(authErrors).length > 0 && { auth: authErrors }),
    ...(Object.keys(priceErrors).length > 0 && { price: priceErrors }),
  }
}

/** The errors that were found and are still there. */
export function remainingErrors(found: ImportErrors, values: ImportValues): ImportErrors {
  const { document, url, ...fields } = found
  const now = validateImport(values)
  const still = Object.keys(fields).filter((name) => name in now)
  return {
    ...Object.fromEntries(Object.entries(now).filter(([name]) => still.includes(name))),
    ...(document !== undefined && values.document.trim() === '' && values.source !== 'url' && { document }),
    ...(url !== undefined && !isHttpUrl(values.url) && { url }),
  }
}

/** The import to send, of a valid form and its document. A new API starts off sale. */
export function toImport(values: ImportValues, document: string, existing: ApiDetails | null): ApiImport {
  const auth = toAuth(values.auth)
  return {
    name: values.name.trim(),
    base_url: values.baseUrl.trim().replace(/\/$/, ''),
    ...(auth !== undefined && { auth }),
    document,
    ...(values.source === 'url' && { origin: values.url.trim() }),
    price: toPrice(values.price),
    ...(!existing && { enabled: false }),
  }
}

/** The values with a name and a base URL from the document, where the form has none. */
export function withHints(values: ImportValues, document: string): ImportValues {
  const { title, server } = documentHints(document)
  return {
    ...values,
    name: values.name.trim() === '' ? slug(title) : values.name,
    baseUrl: values.baseUrl.trim() === '' ? server : values.baseUrl,
  }
}

/** The title and the first server that a document names. The gateway reads the document itself; these only fill the form. */
function documentHints(document: string): { readonly title: string; readonly server: string } {
  const { title, server } = document.trimStart().startsWith('{') ? jsonHints(document) : yamlHints(document)
  return { title, server: isHttpUrl(server) && !server.includes('{') ? server.replace(/\/$/, '') : '' }
}

function jsonHints(document: string) {
  try {
    const parsed: unknown = JSON.parse(document)
    const servers = member(parsed, 'servers')
    const first: unknown = Array.isArray(servers) ? servers[0] : undefined
    return { title: String(member(member(parsed, 'info'), 'title') ?? ''), server: String(member(first, 'url') ?? '') }
  } catch {
    return { title: '', server: '' }
  }
}

function yamlHints(document: string) {
  const head = document.slice(0, MAX_HEAD)
  const inline = /^info:[ \t]*\{.*?\btitle:[ \t]*["']?([^"',}\n]+)/m.exec(head)?.[1]
  const title = inline ?? /^\s+title:\s*["']?([^"'\n]+)/m.exec(head)?.[1] ?? ''
  const server = /^servers:\s*(?:\[\s*|-\s*)(?:\{\s*)?url:\s*["']?([^"'\s,}]+)/m.exec(head)?.[1] ?? ''
  return { title: title.trim(), server }
}

function slug(title: string): string {
  const words = title
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/\b(open)?api\b/g, ' ')
  return words
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
}

export function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text.trim())?.protocol ?? '')
}
