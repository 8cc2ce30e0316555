import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020'

type Json = Readonly<Record<string, unknown>>

/**
 * Judges bodies by the schemas of a document. `closed` also refuses members that the document does not name, so that what
 * the gateway answers cannot grow next to it.
 */
export function bodyValidator(document: { components: unknown }, mode: 'open' | 'closed' = 'open') {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const { components } = (mode === 'closed' ? closed(document) : document) as Json
  ajv.addSchema({ $id: 'document', components } as Json)
  // Most answers share a few schemas, and to compile one takes a hundred times as long as to use it.
  const compiled = new Map<string, ValidateFunction>()
  const known = new Map<unknown, ValidateFunction>()
  const compile = (schema: unknown) => {
    const own = JSON.stringify(mode === 'closed' ? closed(schema) : schema).replaceAll('"#/', '"document#/')
    const validate = compiled.get(own) ?? ajv.compile(JSON.parse(own))
    compiled.set(own, validate)
    known.set(schema, validate)
    return validate
  }
  return (schema: unknown, body: unknown): string | null => {
    const validate = known.get(schema) ?? compile(schema)
    return validate(body) ? null : ajv.errorsText(validate.errors)
  }
}

/** Every object that lists its members takes no others, but for the halves of an `allOf`, which would refuse each other. */
function closed(node: unknown, inAllOf = false): unknown {
  if (Array.isArray(node)) return node.map((entry) => closed(entry, inAllOf))
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, closed(value, inAllOf || name === 'allOf')]),
  )
  const open = 'properties' in copy && !('additionalProperties' in copy) && !inAllOf
  return open ? { ...copy, additionalProperties: false } : copy
}
