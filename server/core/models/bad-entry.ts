/** The problem of an operator's entry, as one sentence. */
export class BadEntry extends Error {}

/** The members of an object that has no others than the known ones. */
export function entryMembers(value: unknown, what: string, known: object): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BadEntry(`${what} must be an object`)
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new BadEntry(`${what} has no property "${unknown.slice(0, 40)}"`)
  return { ...value }
}
