import type { ImportedDocument, ImportOptions, ImportProblem } from '../../core/apis/catalog/imported'
import { isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { Documents, type LoadExternal } from './documents'
import { listed, shownPart } from './operation-notes'
import { plainDescription, plainTitle, textIn } from './plain-texts'
import { readDocument } from './read-document'
import { type ReadOperations, readOperations } from './read-operations'

const MAX_NOTICES = 1_000

/** The options of an import, without its network access. */
export type PlainOptions = Pick<ImportOptions, 'only' | 'origin' | 'baseUrl'>

/** Imports a document in this process. The work is bounded, but may take seconds. */
export function importDocument(
  text: string,
  options: PlainOptions,
  external: LoadExternal | null,
): Promise<Result<ImportedDocument, ImportProblem>> {
  return importParsed(readDocument(text), options, external)
}

/** Imports what `readDocument` made of a document. */
export async function importParsed(
  root: ReturnType<typeof readDocument>,
  options: PlainOptions,
  external: LoadExternal | null,
): Promise<Result<ImportedDocument, ImportProblem>> {
  try {
    if (!root.ok) return refuse(`The document ${root.error}.`)
    const current = await asOpenApi3(root.value)
    if (!current.ok) return refuse(current.error)
    const documents = await Documents.load(current.value, options.origin, external)
    const read = readOperations(documents, options)
    return read.ok ? ok({ ...about(documents), ...withNotices(read.value, current.value) }) : refuse(read.error)
  } catch (error) {
    // Deep documents end the stack somewhere in a library or in here.
    if (error instanceof RangeError) return refuse('The document is too deep to be read.')
    throw error
  }
}

function about(documents: Documents): Pick<ImportedDocument, 'title' | 'description'> {
  const { info } = documents.root
  const { title, description } = isJson(info) ? info : {}
  return {
    title: plainTitle(title),
    description: plainDescription(description),
  }
}

function withNotices(
  { notices, ...read }: ReadOperations,
  root: Json,
): Omit<ImportedDocument, 'title' | 'description'> {
  const all = [...documentNotices(root), ...notices]
  const more = all.length - MAX_NOTICES
  return {
    ...read,
    notices: more > 0 ? [...all.slice(0, MAX_NOTICES), `There are ${more} more notices.`] : all,
  }
}

function documentNotices({ webhooks, components }: Json): string[] {
  const notices: string[] = []
  if (isJson(webhooks) && Object.keys(webhooks).length > 0) {
    notices.push(`Webhooks are ignored: ${listed(Object.keys(webhooks))}.`)
  }
  const schemes = isJson(components) && isJson(components['securitySchemes']) ? components['securitySchemes'] : {}
  const described = Object.entries(schemes).map(([name, scheme]) => `${name} (${wayOf(scheme)})`)
  if (described.length > 0) {
    notices.push(`The upstream authenticates by ${listed(described)}. Set it as the API's authentication.`)
  }
  return notices
}

function wayOf(scheme: unknown): string {
  if (!isJson(scheme)) return 'unknown'
  const { type, in: location, name, scheme: way } = scheme
  if (type === 'apiKey') return shownPart(`${textIn(location)} ${textIn(name)}`)
  return shownPart(`${textIn(type)} ${textIn(way)}`.trim())
}

function refuse(message: string): Result<never, ImportProblem> {
  return err({ message })
}

/** A document as OpenAPI 3.x. Swagger 2.0 is converted; a version may be a number, as YAML reads `openapi: 3.1`. The error is a sentence. */
async function asOpenApi3(root: Json): Promise<Result<Json, string>> {
  const version = textIn(root['openapi'] ?? root['swagger'])
  if (root['openapi'] === undefined && /^2(\.0)?$/.test(version)) return converted(root)
  if (root['openapi'] !== undefined && /^3(\.[012](\.|$)|$)/.test(version))
    return ok({ ...root, openapi: version === '3' ? '3.0' : version })
  if (version === '')
    return err('The document is not an OpenAPI document: it has neither a member openapi nor swagger.')
  return err(
    `The document is of version ${shownPart(version.slice(0, 20))}. Supported are Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2.`,
  )
}

async function converted(root: Json): Promise<Result<Json, string>> {
  keepTabs(root)
  try {
    const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
    const upgraded: unknown = upgradeFromTwoToThree({ ...root, swagger: '2.0' })
    if (isJson(upgraded)) return ok(upgraded)
  } catch (error) {
    if (error instanceof RangeError) throw error
  }
  return err('The document is Swagger 2.0 that cannot be converted. Convert it to OpenAPI 3, and import that.')
}

/** Lists with tabs have no style in OpenAPI 3, and would be converted to another: they get one that is refused by name. */
function keepTabs(part: unknown): void {
  if (typeof part !== 'object' || part === null) return
  if (isJson(part) && part['collectionFormat'] === 'tsv') Reflect.set(part, 'style', 'tabDelimited')
  for (const inner of Object.values(part)) keepTabs(inner)
}
