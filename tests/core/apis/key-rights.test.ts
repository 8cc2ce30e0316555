import { describe, expect, test } from 'bun:test'
import { type EndpointList, mayCallImported } from '../../../server/core/apis/api-routes'
import { anApi, anOperation } from '../../support/apis'

const api = anApi({ createdAt: 100 })
const read = { api, operation: anOperation({ id: 'read' }) }
const write = { api, operation: anOperation({ id: 'write', method: 'POST', effect: 'write' }) }
const key = (allowedEndpoints: EndpointList['allowedEndpoints'], endpointsAt: number | null, createdAt = 0) => ({
  allowedEndpoints,
  endpointsAt,
  createdAt,
})

describe('the rights of a key on an imported operation', () => {
  test.each<[string, EndpointList, boolean, boolean]>([
    ['without a list: reads only', key([], null), true, false],
    ['with a list that names the write', key(['weather.write'], 200), false, true],
    [
      'with a list that names both, set in the moment of the import',
      key(['weather.read', 'weather.write'], 100),
      true,
      true,
    ],
    ['with a list that is older than the API', key(['weather.read', 'weather.write'], 99), false, false],
    ['with the list that it was created with, before the API', key(['weather.read'], null, 99), false, false],
    ['with the list that it was created with, after the API', key(['weather.read'], null, 101), true, false],
    ['with a list of built-in operations', key(['image-search'], 200), false, false],
  ])('%s', (_, list, mayRead, mayWrite) => {
    expect([mayCallImported(list, read), mayCallImported(list, write)]).toEqual([mayRead, mayWrite])
  })
})
