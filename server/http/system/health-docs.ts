import type { RouteDocs } from '../openapi/documented'
import { ref } from '../openapi/json-schema'

const READY = { status: 'ready' }
const NOT_READY = { status: 'not_ready' }

export const HEALTH_DOCS = {
  health: {
    id: 'health',
    tag: 'Health',
    summary: 'Is the process alive',
    description: 'Answers 200 as long as the process lives. Looks at nothing else.',
    access: 'anybody',
    answers: { 200: { description: 'It lives.', schema: ref('Health'), examples: { alive: { status: 'ok' } } } },
    failures: ['internal_error'],
  },
  ready: {
    id: 'ready',
    tag: 'Health',
    summary: 'Can it serve calls',
    description:
      'Answers 200 when calls can be served and charged. To the session of an operator it adds the state of each part and provider.',
    access: 'anybody',
    answers: {
      200: { description: 'It can.', schema: ref('Ready'), examples: { ready: READY } },
      503: {
        description:
          'It cannot now: the database does not answer, nothing can be charged, or the server is shutting down.',
        schema: ref('Ready'),
        examples: { not_ready: NOT_READY },
        headers: ['Retry-After'],
      },
    },
    failures: ['internal_error'],
  },
} as const satisfies Record<string, RouteDocs>
