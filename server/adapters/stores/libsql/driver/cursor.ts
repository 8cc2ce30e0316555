/** A position in a list, opaque to callers: a number that sorts, and a text that breaks ties. */
export function cursorOf(number: number, text: string): string {
  return Buffer.from(`${number}:${text}`).toString('base64url')
}

/** The content of a cursor, or null if it does not belong to this list. Each list knows the format of its text. */
export function parseCursor(cursor: string, form: RegExp): { number: number; text: string } | null {
  const match = /^(\d{1,15}):(-?[A-Za-z0-9_]{1,60})$/.exec(Buffer.from(cursor, 'base64url').toString())
  return match?.[1] && match[2] && form.test(match[2]) ? { number: Number(match[1]), text: match[2] } : null
}
