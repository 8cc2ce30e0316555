import { describe, expect, test } from 'bun:test'
import type { ApiMethod } from '../../../server/core/apis/api'
import { ApiRoutes, clashes, pathValue, templateProblem } from '../../../server/core/apis/api-routes'
import { anApi, anOperation } from '../../support/apis'

const api = (...paths: readonly string[]) =>
  anApi({
    operations: paths.map((line, i) => {
      const [method = 'GET', path = '/'] = line.split(' ')
      return anOperation({ id: `op${i}`, method: method as ApiMethod, path })
    }),
  })

function matched(routes: ApiRoutes, method: string, path: string): object {
  const found = routes.match(method, 'weather', path)
  return found.ok ? { id: found.value.operation.id, ...found.value.values } : found.error
}

describe('the operation of a request', () => {
  test('a literal takes precedence over a parameter, segment by segment, and templates of one shape merge by method', () => {
    const routes = new ApiRoutes([api('GET /a/c', 'GET /a/{b}', 'POST /a/{x}', 'GET /a/{b}/d', 'GET /{any}/c/e')])
    expect(matched(routes, 'GET', '/a/c')).toEqual({ id: 'op0' })
    expect(matched(routes, 'GET', '/a/z')).toEqual({ id: 'op1', b: 'z' })
    expect(matched(routes, 'POST', '/a/z')).toEqual({ id: 'op2', x: 'z' })
    expect(matched(routes, 'GET', '/a/c/d')).toEqual({ id: 'op3', b: 'c' })
    expect(matched(routes, 'GET', '/a/c/e')).toEqual({ id: 'op4', any: 'a' })
  })

  test('a method that the best template lacks is a wrong method, not another template', () => {
    const routes = new ApiRoutes([api('GET /a/c', 'POST /a/{b}')])
    expect(matched(routes, 'POST', '/a/c')).toEqual({ kind: 'method', allow: ['GET'] })
  })

  test('a parameter may be part of a segment', () => {
    const routes = new ApiRoutes([api('GET /Accounts/{Sid}.json', 'GET /Accounts/{Sid}')])
    expect(matched(routes, 'GET', '/Accounts/AC1.json')).toEqual({ id: 'op0', Sid: 'AC1' })
    expect(matched(routes, 'GET', '/Accounts/AC1')).toEqual({ id: 'op1', Sid: 'AC1' })
  })

  test('a path that is that of another operation but for the case of its letters matches nothing', () => {
    const routes = new ApiRoutes([
      api('GET /v1/Report{no}.pdf', 'GET /v1/{name}', 'GET /{any}/x', 'GET /B/y', 'GET /b/x'),
    ])
    expect(matched(routes, 'GET', '/v1/Report5.pdf')).toEqual({ id: 'op0', no: '5' })
    for (const path of ['/v1/report5.pdf', '/v1/REPORT5.PDF', '/v1/%52EPORT5.pdf', '/B/x'])
      expect([path, matched(routes, 'GET', path)]).toEqual([path, { kind: 'unknown' }])
    expect(matched(routes, 'GET', '/v1/other')).toEqual({ id: 'op1', name: 'other' })
    expect(matched(routes, 'GET', '/c/x')).toEqual({ id: 'op2', any: 'c' })
  })

  test('unknown paths, trailing slashes and other APIs match nothing', () => {
    const routes = new ApiRoutes([api('GET /a/{b}')])
    for (const path of ['/a', '/a/', '/a/b/', '/A/b', '/', '', 'a/b'])
      expect(matched(routes, 'GET', path)).toEqual({ kind: 'unknown' })
    expect(routes.match('GET', 'other', '/a/b').ok).toBe(false)
  })

  test('disabled operations and APIs are not sold', () => {
    const off = anApi({ operations: [anOperation({ id: 'a', enabled: false })] })
    expect(new ApiRoutes([off]).match('GET', 'weather', '/v1/forecast').ok).toBe(false)
    const closed = anApi({ enabled: false, operations: [anOperation({ id: 'a' })] })
    expect(new ApiRoutes([closed]).byName('weather.a')).toBeNull()
  })

  test('a duplicate of method and shape is reported by name', () => {
    const twice = api('GET /a/{b}', 'GET /a/{c}')
    expect(clashes(twice)).toEqual([{ method: 'GET', shape: '/a/{}', names: ['weather.op0', 'weather.op1'] }])
    expect(() => new ApiRoutes([twice])).toThrow('weather.op0 and weather.op1')
  })
})

describe('a path value', () => {
  test.each([
    ['%2e%2e', 'dots'],
    ['.', 'a dot'],
    ['%2E', 'an escaped dot'],
    ['%252e%252e', 'dots escaped twice'],
    ['a%2fb', 'a slash'],
    ['a%5cb', 'a backslash'],
    ['a;b', 'a semicolon'],
    ['a%3Fb', 'a question mark'],
    ['a%23b', 'a hash'],
    ['a%0d%0ab', 'a line break'],
    ['a%00', 'a NUL'],
    ['%ff', 'broken UTF-8'],
    ['%c2%85', 'a C1 control'],
    ['', 'nothing'],
  ])('%p is refused: %s', (raw) => {
    expect(pathValue(raw).ok).toBe(false)
  })

  test.each([
    ['Z%C3%BCrich', 'Zürich'],
    ['a%20b', 'a b'],
    ['50%25', '50%'],
    ['...', '...'],
    ['a:b@c', 'a:b@c'],
  ])('%p is %p', (raw, value) => {
    expect(pathValue(raw)).toEqual({ ok: true, value })
  })
})

test('templates that are not plain paths are refused with a reason', () => {
  for (const good of ['/', '/v1/{a}/b', '/v1/{a}.json', '/v1/x-{a}']) expect(templateProblem(good)).toBeNull()
  for (const bad of ['v1', '/a?b', '/{a}{b}', '/{a', '/a/../b', '/%2e%2e/a', '/{a}/{a}', '/{}', '/ü', '/a b'])
    expect(templateProblem(bad)).toBeString()
})
