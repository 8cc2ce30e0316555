import {
  ApiChange,
  ApiImport,
  ApiLift,
  ApiList,
  ApiTrial,
  ImportPlan,
  NewApi,
  NewTrial,
  OneApi,
  RemovedApi,
} from '../../apis/record'
import { BODY_FAILURES } from '../../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../../openapi/documented'

const ONE = { description: 'The API.', schema: OneApi }
const NAME = { name: { description: 'The name of the API.', example: 'weather' } }
const DOCUMENT = '{"openapi":"3.1.0","info":{"title":"Weather","version":"1"},"paths":{}}'
const NEW = {
  name: 'weather',
  base_url: 'https://api.weather.example',
  auth: 'header:x-api-key=env:UPSTREAM_WEATHER_KEY',
}

export const API_DOCS = {
  list: {
    id: 'listApis',
    tag: 'Operator',
    summary: 'List APIs',
    failures: [],
    description: 'The APIs that operators put on sale, also those that are disabled.',
    answers: { 200: { description: 'All APIs, by name.', schema: ApiList } },
  },
  create: {
    id: 'createApi',
    tag: 'Operator',
    summary: 'Put an API on sale',
    description:
      'With its operations, or with an OpenAPI document in `openapi` and a price. Its operations can be called at once, at `/apis/v1/{name}{path}`. Setting an upstream needs a recent sign-in.',
    body: requestBody('The API.', NewApi, {
      document: { ...NEW, openapi: DOCUMENT, price: { mode: 'fixed', usd: '0.01' } },
      operations: {
        ...NEW,
        operations: [
          {
            id: 'getForecast',
            method: 'GET',
            path: '/v1/forecast',
            price: { mode: 'fixed', usd: '0.01' },
            parameters: [{ name: 'city', in: 'query', required: true, schema: { type: 'string' } }],
          },
        ],
      },
    }),
    answers: { 201: ONE },
    failures: [...BODY_FAILURES, 'missing_parameter', 'invalid_state'],
  },
  import: {
    id: 'importApi',
    tag: 'Operator',
    summary: 'Import an OpenAPI document',
    description:
      'Puts the operations of a document on sale, or brings an API up to date with it. With `dry_run=true` nothing is changed: the plan says what would be sold, and what cannot be, each by name and reason. To change an API that is there, send the `confirm` of the plan.',
    body: requestBody('The document, where the API is, and what its operations cost.', ApiImport, {
      first: { ...NEW, document: DOCUMENT, price: { mode: 'fixed', usd: '0.01' } },
    }),
    answers: { 200: { description: 'The changes, made or planned.', schema: ImportPlan } },
    failures: [...BODY_FAILURES, 'missing_parameter', 'invalid_state'],
  },
  show: {
    id: 'showApi',
    tag: 'Operator',
    summary: 'Show an API',
    ids: NAME,
    description: 'With all its operations. Secrets are never shown.',
    answers: { 200: ONE },
    failures: ['resource_not_found'],
  },
  change: {
    id: 'changeApi',
    tag: 'Operator',
    summary: 'Change an API',
    ids: NAME,
    description:
      'Applies to the next call; calls in progress keep what they were admitted with. A changed scheme, host or port drops the secret unless `auth` is sent too, and changing either needs a recent sign-in.',
    body: requestBody('The changes.', ApiChange, {
      price: { operations: [{ id: 'getForecast', price: { mode: 'fixed', usd: '0.02' } }] },
      disable: { enabled: false },
    }),
    answers: { 200: ONE },
    failures: [...BODY_FAILURES, 'resource_not_found', 'invalid_state'],
  },
  test: {
    id: 'testApi',
    tag: 'Operator',
    summary: 'Try an operation',
    ids: NAME,
    description:
      'Asks the upstream once, also of an operation that is not enabled yet: its real answer, the units that were counted, and the price it would have cost. Nothing is charged to anybody here; the upstream may charge you.',
    body: requestBody('The call.', NewTrial, { one: { operation: 'getForecast', input: { city: 'Berlin' } } }),
    answers: { 200: { description: 'The outcome.', schema: ApiTrial } },
    failures: [...BODY_FAILURES, 'missing_parameter', 'resource_not_found'],
  },
  lift: {
    id: 'liftApi',
    tag: 'Operator',
    summary: 'Open what overruns closed',
    ids: NAME,
    description:
      'An operation whose upstream claimed more than the maximum price is closed to the account of that call, and after three accounts it is taken off sale. This opens it again; so does a new price, and putting it back on sale.',
    body: {
      description: 'The operation and the account. Empty: all.',
      schema: ApiLift,
      required: false,
      examples: { one: { operation: 'getForecast', account: 'acct_01a1fdfa942070018c603d2632ddc21b' } },
    },
    answers: { 200: ONE },
    failures: [...BODY_FAILURES, 'resource_not_found'],
  },
  remove: {
    id: 'removeApi',
    tag: 'Operator',
    summary: 'Remove an API',
    ids: NAME,
    description: 'Its name cannot be used again for 30 days. Usage and prices of past calls stay readable.',
    answers: { 200: { description: 'The API that was removed.', schema: RemovedApi } },
    failures: ['resource_not_found'],
  },
} as const satisfies Record<string, EndpointDocs>
