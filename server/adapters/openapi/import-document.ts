import type { ImportedDocument, ImportOptions, ImportProblem } from '../../core/apis/catalog/imported'
import { isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { Documents, type LoadExternal } from './documents'
import { listed, shownPart } from './operation-notes'
import { plainDescription, plainTitle, textIn } from './plain-texts'
import { readDocument } from './read-document'
import { readOperations } from './read-operations'
import { serverUrls } from './read-servers'

const MAX_NOTICES = 1_000

/** What an import needs of the options, without the way out. */
export type PlainOptions = Pick<ImportOptions, 'only' | 'origin'>

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
  { only, origin }: PlainOptions,
  external: LoadExternal | null,
): Promise<Result<ImportedDocument, ImportProblem>> {
  try {
    if (!root.ok) return refuse(`The document ${root.error}.`)
    const problem = versionProblem(root.value)
    if (problem !== null) return refuse(problem)
    const documents = await Documents.load(root.value, origin, external)
    const read = readOperations(documents, only)
    return read.ok ? ok({ ...about(documents), ...withNotices(read.value, root.value) }) : refuse(read.error)
  } catch (error) {
    // Deep documents end the stack somewhere in a library or in here.
    if (error instanceof RangeError) return refuse('The document is too deep to be read.')
    throw error
  }
}

function about(documents: Documents): Pick<ImportedDocument, 'title' | 'description' | 'servers'> {
  const { info, servers } = documents.root
  const { title, description } = isJson(info) ? info : {}
  return {
    title: plainTitle(title),
    description: plainDescription(description),
    servers: serverUrls(servers, documents.start.base),
  }
}

function withNotices(
  { operations, refused, notices }: Pick<ImportedDocument, 'operations' | 'refused' | 'notices'>,
  root: Json,
): Pick<ImportedDocument, 'operations' | 'refused' | 'notices'> {
  const all = [...documentNotices(root), ...notices]
  const more = all.length - MAX_NOTICES
  return {
    operations,
    refused,
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

function versionProblem({ openapi, swagger }: Json): string | null {
  if (typeof openapi === 'string' && /^3\.[01](\.|$)/.test(openapi)) return null
  const found = typeof openapi === 'string' ? openapi : swagger
  if (typeof found !== 'string') return 'The document is not an OpenAPI document: it has no member openapi.'
  return `The document is of version ${shownPart(found.slice(0, 20))}. Supported are OpenAPI 3.0 and 3.1: convert it first.`
}

function refuse(message: string): Result<never, ImportProblem> {
  return err({ message })
}
