/** How the values that cells give for one figure become one value. `values` has at least one. */
export type Rule<T> = (values: readonly T[]) => T

/** What all cells read from the control database, or were asked for; else that of `main`. */
export function same<T>(values: readonly T[]): T {
  return values[0] as T // there is one
}
export const sum: Rule<number> = (values) => values.reduce((total, value) => total + value, 0)
export const most: Rule<number> = (values) => Math.max(...values)
export const every: Rule<boolean> = (values) => values.every(Boolean)
export const some: Rule<boolean> = (values) => values.some(Boolean)
/** The smallest text, such as the earliest time. */
export const first: Rule<string> = (values) => [...values].sort()[0] ?? ''

/** Null if a cell does not know its value. */
export function known<T>(rule: Rule<T>): Rule<T | null> {
  return (values) => {
    const given = values.filter((value) => value !== null)
    return given.length === values.length ? rule(given) : null
  }
}

/** Of the cells that have a value; null if none has. */
export function ifAny<T>(rule: Rule<T>): Rule<T | null> {
  return (values) => {
    const given = values.filter((value) => value !== null)
    return given.length > 0 ? rule(given) : null
  }
}

/** All rows, those of `main` first. */
export function all<T>(values: readonly (readonly T[])[]): readonly T[] {
  return values.flat()
}

/** A record of figures. A figure without a rule does not compile. */
export function eachFigure<T extends object>(rules: { readonly [K in keyof T]-?: Rule<T[K]> }): Rule<T> {
  // Each rule gets the values of its own figure: the loop loses their types.
  const all = Object.entries(rules) as unknown as readonly (readonly [keyof T & string, Rule<unknown>])[]
  return (values) =>
    Object.fromEntries(all.map(([name, rule]) => [name, rule(values.map((value) => value[name]))])) as T
}

/** Rows that several cells have are joined; `order` sorts them, else they stay as they came. */
export function rows<T>(
  nameOf: (row: T) => string,
  rule: Rule<T>,
  order: (a: T, b: T) => number = () => 0,
): (values: readonly (readonly T[])[]) => T[] {
  return (values) => [...Map.groupBy(values.flat(), nameOf).values()].map(rule).sort(order)
}
