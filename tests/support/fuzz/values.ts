import type { Schema } from './document'
import { HOSTILE_TEXT } from './hostile'
import type { Random } from './random'

/** A value that the schema admits, at a bound as often as inside. */
export function goodValue(random: Random, schema: Schema, example?: unknown): unknown {
  if (example !== undefined && random.chance(0.4)) return example
  if (schema.enum) return random.pick(schema.enum)
  const { minimum = 0, maximum = 1_000_000, minLength = 0, maxLength = 40 } = schema
  switch (typeOf(random, schema)) {
    case 'integer':
      return random.pick([minimum, maximum, random.int(minimum, Math.min(maximum, minimum + 1000))])
    case 'number':
      return random.pick([minimum, maximum, Math.round((minimum + random.next() * (maximum - minimum)) * 1e6) / 1e6])
    case 'boolean':
      return random.chance(0.5)
    case 'null':
      return null
    case 'array':
      return Array.from({ length: random.int(0, Math.min(schema.maxItems ?? 3, 4)) }, () =>
        goodValue(random, schema.items ?? {}, Array.isArray(example) ? example[0] : undefined),
      )
    case 'object':
      return goodObject(random, schema)
    default:
      return words(
        random,
        random.pick([Math.max(1, minLength), maxLength, random.int(Math.max(1, minLength), maxLength)]),
      )
  }
}

export function goodObject(random: Random, schema: Schema, example: unknown = {}): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    if (schema.required?.includes(name) || random.chance(0.3))
      made[name] = goodValue(random, member, Reflect.get(Object(example), name))
  return made
}

/** A value that the schema, most often, does not admit: past a bound, of another type, repeated, or plainly hostile. */
export function badValue(random: Random, schema: Schema): unknown {
  const { minimum = 0, maximum = 1_000_000, maxLength = 40 } = schema
  const beside = [minimum - 1, maximum + 1, minimum + 0.5, -0, 2 ** 53, -(2 ** 63), 1e21, 1e-7]
  switch (random.int(0, 6)) {
    case 0:
      return random.pick(beside)
    case 1:
      return words(random, maxLength + 1)
    case 2:
      return random.pick([true, false, null, [], {}, [[]], [null], { a: 1 }, 0, 1, '0', 'true'])
    case 3:
      return Array.from({ length: random.pick([2, 4, 51, 101]) }, () => random.pick(HOSTILE_TEXT))
    case 4:
      return `${goodValue(random, schema)}${random.pick(HOSTILE_TEXT)}`
    default:
      return random.pick(HOSTILE_TEXT)
  }
}

function typeOf(random: Random, { type }: Schema): string {
  return typeof type === 'string' ? type : type ? random.pick(type) : 'string'
}

const SYLLABLES = ['card', 'drizzle', 'user', 'key', 'arrow', 'so', 'lo', 'x', 'é', '信', '😀', '1']

function words(random: Random, length: number): string {
  const text: string[] = []
  for (let i = 0; i < length; i += 6) text.push(random.pick(SYLLABLES))
  return [...text.join(random.chance(0.2) ? ' ' : '').padEnd(length, 'a')].slice(0, Math.max(0, length)).join('')
}
