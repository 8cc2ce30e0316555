import type { EndpointDocs } from '../openapi/documented'
import { ref } from '../openapi/json-schema'

const READY = { status: 'ready' }
const NOT_READY = { status: 'not_ready', code: 'charges_unavailable' }

export const HEALTH_DOCS = {
  health: {
    id: 'health',
    tag: 'Health',
    summary: 'Liveness',
    description: 'Returns 200 while the process is alive. Checks nothing else.',
    answers: { 200: { description: 'Alive.', schema: ref('Health'), examples: { alive: { status: 'ok' } } } },
    failures: ['internal_error'],
  },
  ready: {
    id: 'ready',
    tag: 'Health',
    summary: 'Readiness',
    description:
      "Returns 200 when calls can be served and charged, and otherwise a code of what fails. With an operator's session it also returns the reason, and the state of each part and provider.",
    answers: {
      200: { description: 'Ready.', schema: ref('Ready'), examples: { ready: READY } },
      503: {
        description:
          'Not ready: the database is not responding, calls cannot be charged, the first search index is being built, or the server is shutting down.',
        schema: ref('Ready'),
        examples: { not_ready: NOT_READY },
        headers: ['Retry-After'],
      },
    },
    failures: ['internal_error'],
  },
} as const satisfies Record<string, EndpointDocs>
