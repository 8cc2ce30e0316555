import type { ApiBody, ApiExample, ApiParameter, DataSchema } from '../../core/apis/api'
import { inputNames } from '../../core/apis/input-schema'
import { writeParameter } from '../../core/apis/wire-values'
import { isJson, type Json } from '../../core/json'
import { isPlainText } from '../../core/plain-text'
import { compileJsonSchema } from './compile-json-schema'
import type { Documents, Located } from './documents'
import { plainTitle } from './plain-texts'
import { chosen } from './read-body'

const MAX_EXAMPLES = 3
const MAX_CHARACTERS = 4_000

interface Example {
  readonly title: string
  readonly value: unknown
}

/** Reads examples of calls. One that is too long, or holds characters that hide, is left out. */
export class ExampleReader {
  private readonly documents: Documents

  constructor(documents: Documents) {
    this.documents = documents
  }

  /**
   * One example per example of the body; parameters have their first one. Without a value for each required one there is none. Values
   * that the schemas refuse are left out: documents are often wrong about themselves.
   */
  read(
    parameters: readonly ApiParameter[],
    declared: readonly Located[],
    body: ApiBody | null,
    declaredBody: Located,
  ): ApiExample[] {
    const values: Record<string, unknown> = {}
    const names = inputNames(parameters)
    for (const located of declared) {
      const followed = this.documents.follow(located)
      if (!followed.ok) continue
      const i = parameters.findIndex((one) => isOf(one, followed.value.value))
      const name = names[i]
      const parameter = parameters[i]
      const [value] = this.values(followed.value, parameter?.schema ?? false).filter(
        (one) => parameter && writeParameter(parameter, one.value).problem === undefined,
      )
      if (name !== undefined && value && !Object.hasOwn(values, name)) values[name] = value.value
    }
    if (parameters.some(({ required }, i) => required && !Object.hasOwn(values, names[i] ?? ''))) return []
    const bodies = body ? this.bodies(declaredBody, body.schema) : []
    if (body?.required && bodies.length === 0) return []
    const examples = bodies.length > 0 ? bodies : [{ title: '', value: undefined }]
    return examples
      .map(({ title, value }) => ({
        title: title || 'Example',
        input: value === undefined ? values : { ...values, body: value },
      }))
      .filter(({ input }) => Object.keys(input).length > 0 && isShowable(input))
  }

  private bodies(declared: Located, schema: DataSchema): Example[] {
    const followed = this.documents.follow(declared)
    if (!followed.ok || !isJson(followed.value.value) || !isJson(followed.value.value['content'])) return []
    const found = chosen(followed.value.value['content'])
    return found ? this.values({ ...followed.value, value: found.media }, schema) : []
  }

  /** The examples that the schema allows. */
  private values(part: Located, schema: DataSchema): Example[] {
    const validate = compileJsonSchema(schema)
    return this.declaredValues(part).filter(({ value }) => validate(value) === null)
  }

  /** The examples of a parameter or a content type, or of its schema. */
  private declaredValues(part: Located): Example[] {
    if (!isJson(part.value)) return []
    const { example, examples, schema } = part.value
    if (example !== undefined) return [{ title: '', value: example }]
    if (isJson(examples)) {
      return Object.entries(examples)
        .slice(0, MAX_EXAMPLES)
        .flatMap(([name, one]) => {
          const followed = this.documents.follow({ ...part, value: one })
          const named = followed.ok && isJson(followed.value.value) ? followed.value.value : null
          if (named?.['value'] === undefined) return []
          return [{ title: plainTitle(named['summary']) || plainTitle(name), value: named['value'] }]
        })
    }
    const inner = isJson(schema) ? this.documents.follow({ ...part, value: schema }) : null
    const described = inner?.ok && isJson(inner.value.value) ? inner.value.value : null
    const value = described ? ownExample(described) : undefined
    return value === undefined ? [] : [{ title: '', value }]
  }
}

function ownExample({ example, examples, default: fallback }: Json): unknown {
  return example ?? (Array.isArray(examples) ? examples[0] : undefined) ?? fallback
}

function isOf(parameter: ApiParameter, declared: unknown): boolean {
  return isJson(declared) && declared['name'] === parameter.name && declared['in'] === parameter.in
}

function isShowable(input: Json): boolean {
  const text = JSON.stringify(input)
  // What JSON escapes is as hidden as what it does not.
  return text.length <= MAX_CHARACTERS && isPlainText(text) && !/\\u[0-9a-f]{4}|__proto__/i.test(text)
}
