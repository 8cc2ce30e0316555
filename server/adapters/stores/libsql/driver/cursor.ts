/** A place in a list, opaque to callers: a number that sorts, and what goes with it. */
export function cursorOf(number: number, text: string): string {
  return Buffer.from(`${number}:${text}`).toString('base64url')
}

/** The content of a cursor, or null when it is none of this list: each list knows the form of the text that goes with it. */
export function parseCursor(cursor: string, form: RegExp): { number: number; text: string } | null {
  const match = /^(\d{1,15}):(-?[A-Za-z0-9_]{1,60})$/.exec(Buffer.from(cursor, 'base64url').toString())
  return match?.[1] && match[2] && form.test(match[2]) ? { number: Number(match[1]), text: match[2] } : null
}
