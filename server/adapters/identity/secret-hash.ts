import { createHmac } from 'node:crypto'

/** The columns, by the library's names, whose secrets the library would store in plain text. */
export const SECRET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  session: ['token'],
  deviceCode: ['deviceCode', 'userCode'],
  // The id of an invitation is all that it takes to accept it.
  invitation: ['id'],
}

/** The stored form of a secret: a keyed hash, so that not even an eight-letter code can be guessed without the gateway's key. */
export type SecretHash = (model: string, field: string, secret: string) => string

/** No token or code of the library starts with this. */
const PREFIX = 'hmac:'

export function secretHash(key: string): SecretHash {
  return (model, field, secret) =>
    PREFIX + createHmac('sha256', key).update(`${model}.${field}\n${secret}`).digest('base64url')
}
