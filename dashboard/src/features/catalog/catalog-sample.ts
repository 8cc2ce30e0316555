import type { CatalogOperation } from '../../api/catalog.ts'
import { callOf, catalogGatewayOperation } from '../../api/playground/operations.ts'
import type { Sample } from '../../sample.ts'

/** A request for an operation as code: its first example, or its required parameters with values to replace. */
export function sampleOf(operation: CatalogOperation): Sample {
  const form = catalogGatewayOperation(operation)
  const example = exampleOf(operation)
  const values = Object.fromEntries(
    form.fields.flatMap(({ name, location, required, choices, defaultValue, type }) => {
      const inBody: unknown = location === 'body' ? Reflect.get(example, `body.${name}`) : undefined
      const given: unknown = inBody ?? Reflect.get(example, name)
      if (given !== undefined) return [[name, typeof given === 'object' ? JSON.stringify(given) : String(given)]]
      const isNumber = type === 'integer' || type === 'number'
      return required
        ? [[name, defaultValue ?? choices[0] ?? (isNumber ? '1' : type === 'boolean' ? 'true' : name)]]
        : []
    }),
  )
  const call = callOf(form, values, form.exampleBody ?? '')
  return {
    method: operation.method,
    url: window.location.origin + (call?.path ?? operation.path),
    headers: call?.headers ?? {},
    ...(call?.body !== undefined && { body: call.body }),
    ...(call?.form && { form: call.form }),
    key: { variable: 'GATEWAY_API_KEY' },
  }
}

/** The input of the first example; members of its body as `body.NAME`. */
function exampleOf({ examples }: CatalogOperation): object {
  const input: object = examples[0]?.input ?? {}
  const body: unknown = Reflect.get(input, 'body')
  const members = typeof body === 'object' && body !== null ? Object.entries(body) : []
  return { ...input, ...Object.fromEntries(members.map(([name, value]) => [`body.${name}`, value])) }
}
