import { describe, expect, test } from 'bun:test'
import { BytesInProgress } from '../../server/core/limits/bytes-in-progress'
import { Intake } from '../../server/http/middleware/input/intake'
import { readable, readBody, validateBody } from '../../server/http/middleware/input/validate-body'
import {
  checked,
  form,
  instant,
  line,
  listOf,
  named,
  oneOf,
  orNull,
  partialForm,
  prose,
  record,
  text,
  timeZone,
  usd,
  whole,
  withRule,
  yesOrNo,
} from '../../server/http/openapi/json-schema'
import { extractNamed } from '../../server/http/openapi/named-schemas'

const Dog = form(
  'A dog.',
  {
    name: line('Its name.', 10),
    story: orNull(prose('Several lines.', 20), 'no story'),
    born: instant('When.'),
    legs: whole('Legs.', { minimum: 1, maximum: 4 }),
    fleas: whole('Fleas.', { minimum: 1 }),
    coat: oneOf(['short', 'long'], 'Its coat.'),
    price: orNull(usd('Its price.'), 'not for sale'),
    tame: yesOrNo('Whether it is.'),
    tags: listOf(text('A tag.'), 'Tags.', { maxItems: 3 }),
    toys: withRule('must be a list of toys', listOf(text('A toy.'), 'Toys.', { maxItems: 9 })),
    zone: timeZone('Where it lives.'),
    owner: orNull(
      form('Its owner.', { name: line('Name.', 10), address: record('Address.', { city: text('City.') }) }),
    ),
  },
  ['story', 'born', 'legs', 'fleas', 'coat', 'price', 'tame', 'tags', 'toys', 'zone', 'owner'],
)

/** The rules that a body breaks, in sentences. */
const broken = (body: unknown) => validateBody(Dog, body).errors.map(({ param, rule }) => `${param} ${rule}`)
const rule = (member: string, value: unknown) => broken({ name: 'Rex', [member]: value })

describe('a body validated by its schema', () => {
  test('comes out as it was sent when nothing is wrong with it', () => {
    const body = {
      name: ' Rex ',
      story: 'Two\nlines',
      born: '2026-11-21T12:00:00+01:00',
      legs: 4,
      coat: 'long' as const,
      price: 0.000001,
      tags: ['good', 'old'],
      owner: { name: 'Ada', address: { city: 'London', more: 'may stand here' } },
    }
    expect(validateBody(Dog, body)).toEqual({ isWhole: true, form: body, errors: [] })
    expect(broken({ name: 'Rex', story: null, price: null, owner: null })).toEqual([])
  })

  test('lists every missing, invalid or unknown property at once, and keeps the valid ones', () => {
    const { isWhole, form, errors } = validateBody(Dog, {
      legs: 5,
      coat: 'short',
      tame: 'yes',
      colour: 'red',
      wings: 2,
    })
    expect([isWhole, form]).toEqual([false, { coat: 'short' }])
    expect(errors).toEqual([
      { param: 'name', in: 'body', code: 'missing_parameter', rule: 'is required', received: null },
      {
        param: 'legs',
        in: 'body',
        code: 'invalid_parameter',
        rule: 'must be an integer from 1 to 4',
        received: '5',
      },
      { param: 'tame', in: 'body', code: 'invalid_parameter', rule: 'must be true or false', received: 'yes' },
      {
        param: 'colour',
        in: 'body',
        code: 'invalid_parameter',
        rule: 'is not a known property',
        received: 'red',
      },
      { param: 'wings', in: 'body', code: 'invalid_parameter', rule: 'is not a known property', received: '2' },
    ])
  })

  test.each([
    [
      'name',
      'Rex the Great',
      'must be text of 1 to 10 characters, without control, direction or zero-width characters',
    ],
    ['name', '   ', 'must be text of 1 to 10 characters, without control, direction or zero-width characters'],
    ['name', 'a\nb', 'must be text of 1 to 10 characters, without control, direction or zero-width characters'],
    [
      'story',
      '',
      'must be text of 1 to 20 characters, without control, direction or zero-width characters, or null (no story)',
    ],
    ['born', '2026-02-30T00:00:00Z', 'must be an RFC 3339 time'],
    ['legs', 2 ** 53, 'must be an integer from 1 to 4'],
    ['legs', Number.NaN, 'must be an integer from 1 to 4'],
    ['fleas', 2 ** 53, 'must be a positive integer'],
    ['coat', 'Short', 'must be one of short, long'],
    ['coat', undefined, 'must be one of short, long'],
    ['price', 1e-7, 'must be USD from 0.000001 to 1000000 with at most 6 decimals, or null (not for sale)'],
    ['price', '1', 'must be USD from 0.000001 to 1000000 with at most 6 decimals, or null (not for sale)'],
    ['tags', ['1', '2', '3', '4'], 'must be a list of 0 to 3 entries'],
    ['tags', ['1', 2], '1 must be text of at most 8192 characters'],
    ['toys', ['ball', 2], 'must be a list of toys'],
    ['zone', 'Mars/Base', 'must be an IANA time zone such as Europe/Berlin'],
    ['owner', 'Ada', 'must be an object, or null'],
    ['owner', { name: 'Ada', address: { city: 7 } }, 'address.city must be text'],
    ['owner', { name: 'Ada', address: {} }, 'address.city is required'],
    ['owner', { name: 'Ada', address: { city: 'London' }, 'age/years': 7 }, 'age/years is not a known property'],
  ])('says of %s %j which rule it breaks', (member, value, words) => {
    expect(rule(member, value)).toEqual([`${member} ${words}`])
  })

  test('is refused unless it is an object', () => {
    for (const body of [null, undefined, [], 'x', 1]) expect(broken(body)).toEqual(['body must be a JSON object'])
  })

  test('treats names that every JavaScript object has as unknown properties', () => {
    const body: unknown = JSON.parse('{"name":"Rex","__proto__":1,"constructor":1,"toString":1}')
    expect(validateBody(Dog, body).errors.map(({ param }) => param)).toEqual(['__proto__', 'constructor', 'toString'])
    const long = validateBody(Dog, { name: 'Rex', ['x'.repeat(1000)]: 1 })
    expect(long.errors.map(({ param }) => param)).toEqual(['x'.repeat(60)])
    const Odd = partialForm('Odd.', { valueOf: text('A text.') })
    expect(Object.keys(validateBody(Odd, {}).form)).toEqual([])
  })

  test('validates no entry of a list that is too long', () => {
    let seen = 0
    const Counted = form('Counted.', {
      list: listOf(
        checked<string>({ type: 'string' }, () => {
          seen++
          return null
        }),
        'A list.',
        { maxItems: 10 },
      ),
    })
    expect(validateBody(Counted, { list: Array.from({ length: 1000 }, () => '') }).isWhole).toBe(false)
    expect(seen).toBe(0)
  })
})

describe('readBody', () => {
  const intake = new Intake(new BytesInProgress({ subject: 1024, all: 1024 }), { now: () => 0 })
  const post = (body?: string) => {
    const request = new Request('http://localhost/', {
      method: 'POST',
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    })
    return { request, intake, bodyOwner: 'address 127.0.0.1' } as const
  }

  test('throws one failure that lists every broken rule', async () => {
    const failed = await readBody(Dog, post('{"legs":0,"x":1}')).catch((error: unknown) => error)
    expect(failed).toMatchObject({ failure: { code: 'missing_parameter', param: 'name' } })
    expect(Object(failed).failure.details).toHaveLength(3)
  })

  test('reads a missing body as the given default, and refuses null', async () => {
    const Grace = partialForm('Grace.', { seconds: whole('Seconds.') })
    expect(await readBody(Grace, post(), {})).toEqual({})
    expect(await readBody(Grace, post('null'), {}).catch(() => 'refused')).toBe('refused')
    expect(await readBody(Grace, post()).catch(() => 'refused')).toBe('refused')
  })

  test('throws when a validated value cannot be parsed, instead of returning null, which may mean no limit', () => {
    expect(() => readable(null)).toThrow('its parser rejected it')
    expect(readable(0)).toBe(0)
  })
})

describe('a named schema', () => {
  const Ball = named('Ball', record('A ball.', { size: whole('Its size.') }))

  test('is referenced wherever it is used, and defined once in the components', () => {
    const { node, schemas } = extractNamed({
      a: { schema: Ball },
      b: { schema: record('Two.', { one: Ball, other: orNull(Ball) }), examples: { x: { $id: 'Ball', size: 1 } } },
    })
    const reference = { $ref: '#/components/schemas/Ball' }
    expect(node).toMatchObject({
      a: { schema: reference },
      b: {
        schema: { properties: { one: reference, other: { anyOf: [reference, { type: 'null' }] } } },
        examples: { x: { $id: 'Ball', size: 1 } },
      },
    })
    expect(JSON.parse(JSON.stringify(schemas))).toEqual({
      Ball: {
        type: 'object',
        description: 'A ball.',
        required: ['size'],
        properties: { size: { type: 'integer', description: 'Its size.' } },
      },
    })
  })

  test('cannot share its name', () => {
    const other = named('Ball', record('Another.', {}))
    expect(() => extractNamed([Ball, other])).toThrow('two different schemas are named Ball')
  })
})
