import type { ApiBody } from '../../core/apis/api'
import { Shape } from '../../core/apis/value-shape'
import { claimsName, readParameter, type WireValue, type Written, writeParameter } from '../../core/apis/wire-values'
import { isJson } from '../../core/json'

export interface FormFile {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The fields of a form, in order. */
export type FormFields = readonly (readonly [string, string | FormFile])[]

/** A form as the object that its schema describes, and the fields that are sent up. */
interface FormValue {
  readonly value: unknown
  readonly fields: FormFields
  readonly problem: string | null
}

/** A file in the value that is validated. */
const FILE = '(file)'

/** Reads and writes the fields of a form by the same rules as the parameters of a query. */
export class Form {
  private readonly declared: readonly Written[]

  constructor(body: ApiBody | null) {
    const shape = Shape.of(body?.schema ?? true)
    this.declared = shape.members.map((name) => ({
      ...anyField(name),
      schema: shape.memberSchema(name),
      ...(body?.encoding && Object.hasOwn(body.encoding, name) ? body.encoding[name] : {}),
    }))
  }

  /** A form that was sent as one. Its fields are written anew, in the order of their first names. */
  read(sent: FormFields): FormValue {
    const all = new FormParts()
    const done = new Set<Written>()
    const texts = new Map<string, string[]>()
    for (const [name, one] of sent) {
      const text = typeof one === 'string' ? one : FILE
      const known = texts.get(name)
      if (known) known.push(text)
      else texts.set(name, [text])
    }
    const hasFiles = sent.some(([, one]) => typeof one !== 'string')
    const undeclared = new Map<string, Written>()
    for (const [name] of sent) {
      const field = this.fieldOf(name, undeclared)
      if (done.has(field)) continue
      done.add(field)
      const found = readParameter(field, texts, () => null)
      if (!found) continue
      const own = hasFiles ? sent.filter(([one]) => claimsName(field, one)) : []
      all.add(field.name, found, own.some(([, one]) => typeof one !== 'string') ? own : null)
    }
    return all.whole
  }

  /** A form that was given as JSON. `fileIn` returns the file of a value. */
  write(value: unknown, fileIn: (value: unknown) => FormFile | null): FormValue {
    if (!isJson(value)) return { value, fields: [], problem: 'must be an object' }
    const all = new FormParts()
    const undeclared = new Map<string, Written>()
    for (const [name, member] of Object.entries(value)) {
      const parts = (Array.isArray(member) ? member : [member]).map((one: unknown) => fileIn(one) ?? one)
      const files = parts.filter((part): part is FormFile => isJson(part) && part['bytes'] instanceof Uint8Array)
      const field = this.fieldOf(name, undeclared)
      if (files.length === 0) all.add(name, writeParameter(field, member), null)
      else if (files.length < parts.length) all.add(name, { value: member, pairs: [], problem: MIXED }, null)
      else
        all.add(
          name,
          { value: Array.isArray(member) ? parts.map(() => FILE) : FILE, pairs: [] },
          files.map((file) => [name, file]),
        )
    }
    return all.whole
  }

  private fieldOf(name: string, undeclared: Map<string, Written>): Written {
    const declared = this.declared.find((field) => claimsName(field, name))
    if (declared) return declared
    const known = undeclared.get(name) ?? anyField(name)
    undeclared.set(name, known)
    return known
  }
}

const MIXED = 'must not mix files with other values under one name'

function anyField(name: string): Written {
  return { name, in: 'form', schema: true, style: 'form', explode: true }
}

/** The value of a form and its fields, collected one by one. */
class FormParts {
  private readonly value: Record<string, unknown> = {}
  private readonly fields: FormFields[number][] = []
  private problem: string | null = null

  /** `files`: sent in place of its texts. */
  add(name: string, { value, pairs, problem }: WireValue, files: FormFields | null): void {
    // Not by assignment: it may be named `__proto__`.
    Object.defineProperty(this.value, name, { value, enumerable: true })
    if (problem !== undefined) this.problem ??= `has a field ${JSON.stringify(name.slice(0, 60))} that ${problem}`
    for (const [one, text] of files ?? pairs) this.fields.push([one, text])
  }

  get whole(): FormValue {
    return { value: this.value, fields: this.fields, problem: this.problem }
  }
}
