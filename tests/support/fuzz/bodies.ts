import type { Operation } from './document'
import { BROKEN_UTF8, HOSTILE_TEXT, utf8 } from './hostile'
import type { Random } from './random'
import { goodObject } from './values'

const MIB = 1024 * 1024
const JSON_TYPE = 'Content-Type: application/json'

interface Body {
  readonly bytes: string
  /** Header lines that go with it. */
  readonly lines: readonly string[]
}

/** A body that is not what the document wants: cut, doubled, deep, poisoned, too large, in another encoding or of another type. */
export function hostileBody(random: Random, wanted: Operation['body']): Body {
  const good = JSON.stringify(goodObject(random, wanted?.schema ?? {}, wanted?.example))
  const json = (text: string): Body => ({ bytes: utf8(text), lines: [JSON_TYPE] })
  const inside = good === '{}' ? '' : `,${good.slice(1, -1)}`
  const deep = random.int(10, 20_000)
  return random.pick<() => Body>([
    () => json(good.slice(0, random.int(1, Math.max(1, good.length - 1)))),
    () => json(`${good}${random.pick(['x', '{}', ',', '\0', '\u2028'])}`),
    () =>
      json(
        random.pick(['null', '[]', '1', '"x"', 'true', '{}', '', ' ', '[{}]', 'NaN', '{', '"', '\ufeff{}', "{'q':1}"]),
      ),
    () => json('['.repeat(deep) + ']'.repeat(deep)),
    () => json(`{"q":${'{"q":'.repeat(deep)}1${'}'.repeat(deep)}}`),
    () => json('{"q":'.repeat(deep)),
    () => json(`{"__proto__":{"q":"polluted","limit":1,"isAdmin":true}${inside}}`),
    () => json(`{"constructor":{"prototype":{"q":"polluted"}},"toString":1,"hasOwnProperty":1${inside}}`),
    () => json(`{"q":"a","q":"b","q":"c"${inside}}`),
    () => json(`{"q":"${'\\ud800'.repeat(random.int(1, 400))}"}`),
    () => json(`{"q":"\\u0000\\u0001a","count":1e999,"name":"\\u202e\\u0000"${inside}}`),
    () => json(`{${Array.from({ length: 2000 }, (_, i) => `"m${i}":${i}`).join()}}`),
    () =>
      json(`{"q":${JSON.stringify(random.pick(HOSTILE_TEXT))},"name":${JSON.stringify(random.pick(HOSTILE_TEXT))}}`),
    () => json(`{"q":"${'a'.repeat(100_000)}"}`),
    () => json(`{"q":${'9'.repeat(5000)}}`),
    () => ({ bytes: `{"q":"${random.pick(BROKEN_UTF8)}"}`, lines: [JSON_TYPE] }),
    () => ({ bytes: Buffer.from(good, 'utf16le').toString('latin1'), lines: [`${JSON_TYPE}; charset=utf-16`] }),
    () => ({ bytes: Buffer.from(Bun.gzipSync(good)).toString('latin1'), lines: [JSON_TYPE, 'Content-Encoding: gzip'] }),
    () => ({ bytes: utf8(good), lines: [`Content-Type: ${random.pick(WRONG_TYPES)}`] }),
    () => ({ bytes: utf8(good), lines: [] }),
    () => ({ bytes: utf8(good), lines: [JSON_TYPE, 'Content-Type: text/plain'] }),
    // Rare: it costs a mebibyte each.
    () => (random.chance(0.15) ? json(`"${'a'.repeat(MIB + random.int(-3, 3))}"`) : json(good)),
  ])()
}

const WRONG_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json, text/plain',
  'application/jsonx',
  'application/vnd.api+json',
  '',
  ';',
  'application/xml',
  'APPLICATION/JSON; charset="UTF-8"',
]
