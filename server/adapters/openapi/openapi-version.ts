import { isJson, type Json } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { shownPart } from './operation-notes'
import { textIn } from './plain-texts'

/** A document as OpenAPI 3.x. Swagger 2.0 is converted; a version may be a number, as YAML reads `openapi: 3.1`. The error is a sentence. */
export async function asOpenApi3(root: Json): Promise<Result<Json, string>> {
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
