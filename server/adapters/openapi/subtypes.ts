import { elementsOf, isJson } from '../../core/json'
import type { Documents, Located } from './documents'

/** Finds the subtypes of schemas with a discriminator: what joins them by `allOf`, what they map to, and the forms that they list. */
export class Subtypes {
  private readonly documents: Documents
  private readonly known = new Map<string, readonly Located[]>()
  private joined: ReadonlyMap<string, readonly Located[]> | null = null

  constructor(documents: Documents) {
    this.documents = documents
  }

  /** All subtypes, also those of subtypes, without the schema itself. */
  of(base: Located): readonly Located[] {
    const known = this.known.get(base.key)
    if (known) return known
    const found = new Map<string, Located>([[base.key, base]])
    // A map goes on with what is added while it is walked.
    for (const [, one] of found) for (const sub of this.direct(one)) if (!found.has(sub.key)) found.set(sub.key, sub)
    found.delete(base.key)
    const all = [...found.values()]
    this.known.set(base.key, all)
    return all
  }

  private direct(base: Located): Located[] {
    this.joined ??= this.read()
    const { oneOf, anyOf, discriminator } = isJson(base.value) ? base.value : {}
    const mapping = isJson(discriminator) && isJson(discriminator['mapping']) ? discriminator['mapping'] : {}
    const forms = [...elementsOf(oneOf), ...elementsOf(anyOf)].map((form) => (isJson(form) ? form['$ref'] : undefined))
    const mapped = Object.values(mapping).map((target) =>
      typeof target === 'string' && !/[/#.]/.test(target) ? `#/components/schemas/${target}` : target,
    )
    return [...(this.joined.get(base.key) ?? []), ...[...forms, ...mapped].flatMap((ref) => this.target(ref, base))]
  }

  private target(ref: unknown, from: Pick<Located, 'base'>): Located[] {
    const found = typeof ref === 'string' ? this.documents.resolve(ref, from) : null
    return found?.ok ? [found.value] : []
  }

  /** The schemas of the document by what they join. */
  private read(): ReadonlyMap<string, readonly Located[]> {
    const { root, start } = this.documents
    const { components } = root
    const schemas = isJson(components) && isJson(components['schemas']) ? components['schemas'] : {}
    const joined = new Map<string, Located[]>()
    for (const [name, schema] of Object.entries(schemas)) {
      const pointer = name.replaceAll('~', '~0').replaceAll('/', '~1')
      const [own] = this.target(`#/components/schemas/${encodeURIComponent(pointer)}`, start)
      for (const part of isJson(schema) ? elementsOf(schema['allOf']) : [])
        for (const base of own && isJson(part) ? this.target(part['$ref'], start) : [])
          if (own) joined.set(base.key, [...(joined.get(base.key) ?? []), own])
    }
    return joined
  }
}
