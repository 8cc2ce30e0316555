import type { Static } from '@sinclair/typebox'
import type { ApiFigures, ApiReport as CoreReport } from '../../core/apis/api-report'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import { minus } from '../../core/money'
import { form, listOf, microsUsd, named, oneOf, orNull, record, text, whole } from '../openapi/json-schema'

const COUNT = { minimum: 0 }

const FIGURES = {
  calls: whole('Calls with keys and apps, and those that were paid for one by one.', COUNT),
  served: whole('Calls that succeeded and were charged.', COUNT),
  failed: whole('Calls with keys and apps that ended with a 5xx.', COUNT),
  revenue_micros_usd: microsUsd('What they brought in, less refunds.'),
  upstream_cost_micros_usd: orNull(
    microsUsd('What they cost at the upstream. Null if the cost of an operation that was called is not known.', COUNT),
  ),
  recent_calls: whole('Calls in the last 24 hours.', COUNT),
  recent_failed: whole('Calls in the last 24 hours that ended with a 5xx.', COUNT),
}

export const ApiReport = named(
  'ApiReport',
  record('What the APIs of this gateway brought in over the last days.', {
    days: whole('How many days.', COUNT),
    wallet: orNull(
      record('The wallet that pays upstreams per request.', {
        address: text('Its address.'),
        signed_micros_usd: microsUsd(
          'What counts towards its daily maximum: signed in the last 24 hours, and all that may still be cashed.',
          COUNT,
        ),
        daily_maximum_micros_usd: microsUsd('The most that it signs in 24 hours.', COUNT),
      }),
    ),
    apis: listOf(
      record('One API.', {
        name: text('Its name.'),
        ...FIGURES,
        operations: listOf(
          record('One operation.', { name: text('`{api}.{id}`.'), ...FIGURES }),
          'Its operations that were called, also those that were removed.',
        ),
        upstream_payments: listOf(
          record('Payments of one state.', {
            state: oneOf(
              ['signed', 'answered', 'cashed', 'unused'],
              '`signed`: may still be cashed. `answered`: its answer was sold. `cashed`: without an answer that was sold. `unused`: it expired.',
            ),
            payments: whole('How many.', COUNT),
            cost_micros_usd: microsUsd('What they come to.', COUNT),
          }),
          'Payments to its upstream, with `auth` 402.',
        ),
      }),
      'The APIs, by name.',
    ),
  }),
)
export type ApiReport = Static<typeof ApiReport>

export const NewDocumentFetch = form('A document to fetch.', {
  url: text('Its URL.', { minLength: 1, maxLength: 2000 }),
})
export const FetchedDocument = record('A document that was fetched.', {
  document: text('Its text.', { maxLength: MAX_DOCUMENT_BYTES }),
})
export type FetchedDocument = Static<typeof FetchedDocument>

export function apiReportRecord({ name, operations, payments, ...figures }: CoreReport): ApiReport['apis'][number] {
  return {
    name,
    ...figuresRecord(figures),
    operations: operations.map(({ name, ...figures }) => ({ name, ...figuresRecord(figures) })),
    upstream_payments: payments.map(({ state, payments, cost }) => ({ state, payments, cost_micros_usd: cost })),
  }
}

function figuresRecord(figures: ApiFigures) {
  const { calls, served, failed, charged, refunded, upstreamCost, recentCalls, recentFailed } = figures
  return {
    calls,
    served,
    failed,
    revenue_micros_usd: minus(charged, refunded),
    upstream_cost_micros_usd: upstreamCost,
    recent_calls: recentCalls,
    recent_failed: recentFailed,
  }
}
