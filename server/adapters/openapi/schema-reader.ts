import type { DataSchema } from '../../core/apis/api'
import { isJson } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { SchemaCloser } from './close-schema'
import { type Converted, MAX_PARTS, SchemaConverter, SchemaProblem } from './convert-schema'
import type { Documents, Located } from './documents'
import { withDefinitions } from './inline-schema'

/** Parts of the schemas of all operations together. */
const MAX_PARTS_IN_ALL = 1_000_000

export interface ReadSchema {
  /** Self-contained, and closed: only declared members pass. */
  readonly schema: DataSchema
  /** Unchecked parts, such as `email (format email)`. */
  readonly unchecked: readonly string[]
  /** Values that may have any members. */
  readonly open: readonly string[]
}

/** Reads schemas of a document with all that they refer to. A shared schema is converted once. */
export class SchemaReader {
  private readonly converter: SchemaConverter
  private readonly converted = new Map<string, Converted | SchemaProblem>()
  private parts = 0

  constructor(documents: Documents) {
    this.converter = new SchemaConverter(documents)
  }

  /** The error follows the name of what has the schema. `label` names the value in messages. */
  read(part: Located, label: string): Result<ReadSchema, string> {
    try {
      return ok(this.whole(part, label))
    } catch (error) {
      if (error instanceof SchemaProblem) return err(error.message)
      throw error
    }
  }

  private whole(part: Located, label: string): ReadSchema {
    const root = this.converter.convert(part, label)
    const all = new Map<string, Converted>()
    const unchecked = new Set(root.unchecked)
    let { parts } = root
    const waiting = [...root.refs]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [name, target] = next
      if (all.has(name)) continue
      const definition = this.definition(name, target)
      parts += definition.parts
      if (parts > MAX_PARTS) throw new SchemaProblem(`has a schema of more than ${MAX_PARTS} parts`)
      all.set(name, definition)
      for (const one of definition.unchecked) unchecked.add(one)
      waiting.push(...definition.refs)
    }
    this.parts += parts
    if (this.parts > MAX_PARTS_IN_ALL) {
      throw new SchemaProblem('is one operation too many for one import: choose the operations to sell')
    }
    return this.closed(root.schema, all, [...unchecked], label)
  }

  private closed(
    root: DataSchema,
    all: ReadonlyMap<string, Converted>,
    unchecked: readonly string[],
    label: string,
  ): ReadSchema {
    const names = [...all.keys()].sort()
    const closer = new SchemaCloser(Object.fromEntries(names.map((name) => [name, all.get(name)?.schema])))
    const defs = Object.fromEntries(names.map((name) => [name, closer.inPlace(all.get(name)?.schema, name)]))
    const schema = withDefinitions(closer.value(root, label), defs)
    return { schema: isJson(schema) ? schema : schema === true, unchecked, open: [...closer.open] }
  }

  private definition(name: string, target: Located): Converted {
    let known = this.converted.get(target.key)
    if (!known) {
      known = this.attempt(target, name)
      this.converted.set(target.key, known)
    }
    if (known instanceof SchemaProblem) throw known
    return known
  }

  private attempt(target: Located, name: string): Converted | SchemaProblem {
    try {
      return this.converter.convert(target, name)
    } catch (error) {
      if (error instanceof SchemaProblem) return error
      throw error
    }
  }
}
