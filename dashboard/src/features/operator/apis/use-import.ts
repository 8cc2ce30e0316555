import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type ApiDetails,
  type ApiImport,
  type ApiPrice,
  fetchDocument,
  type ImportPlan,
  importApi,
} from '../../../api/apis.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { useOperatorAction } from '../action-form.tsx'
import {
  type ImportErrors,
  type ImportValues,
  isHttpUrl,
  toImport,
  validateImport,
  withHints,
} from './import-values.ts'

/** The plan of a checked document. `form` is the import that was checked. */
export interface CheckedImport {
  readonly form: ApiImport
  readonly plan: ImportPlan
  /** Prices that stay because the operations have them already. */
  readonly kept: Readonly<Record<string, ApiPrice>>
}

type Check = { readonly values: ImportValues } & (
  | { readonly errors: ImportErrors }
  | { readonly checked: CheckedImport }
)

/** Checks a document: what would be sold, at what price, and what cannot be. Changes nothing. */
export function useCheck(existing: ApiDetails | null, onValues: (values: ImportValues) => void) {
  const [errors, setErrors] = useState<ImportErrors>({})
  const checking = useMutation({
    mutationFn: (values: ImportValues) => check(values, existing),
    onSuccess: (result) => {
      onValues(result.values)
      setErrors('errors' in result ? result.errors : {})
    },
  })
  const { data } = checking
  return { checking, errors, checked: data && 'checked' in data ? data.checked : null }
}

async function check(values: ImportValues, existing: ApiDetails | null): Promise<Check> {
  if (values.source === 'url' && !isHttpUrl(values.url)) return { values, errors: { url: TEXT.urlWrong } }
  if (values.source !== 'url' && values.document.trim() === '')
    return { values, errors: { ...validateImport(values), document: TEXT.documentNeeded } }
  const document = values.source === 'url' ? (await fetchDocument(values.url.trim())).document : values.document
  const filled = withHints(values, document)
  const errors = validateImport(filled)
  if (Object.keys(errors).length > 0) return { values: filled, errors }
  const form = toImport(filled, document, existing)
  const plan = await importApi(form, true)
  const kept = keptPrices(plan, existing)
  // The price of all would replace prices that operations have already.
  if (Object.keys(kept).length === 0) return { values: filled, checked: { form, plan, kept } }
  return { values: filled, checked: { form, plan: await importApi({ ...form, prices: kept }, true), kept } }
}

function keptPrices(plan: ImportPlan, existing: ApiDetails | null): Readonly<Record<string, ApiPrice>> {
  const named = new Set(plan.api.operations.map(({ id }) => id))
  const operations = existing?.operations.filter(({ id }) => named.has(id)) ?? []
  return Object.fromEntries(operations.map(({ id, price }) => [id, price]))
}

/** The chosen part of a checked import. */
export function chosenImport(
  { form, kept }: CheckedImport,
  ids: readonly string[],
  prices: CheckedImport['kept'],
): ApiImport {
  const own = Object.entries({ ...kept, ...prices }).filter(([id]) => ids.includes(id))
  return { ...form, only: [...ids], prices: Object.fromEntries(own) }
}

/** Shows what a change of an API that is there would do. */
export function useReview() {
  return useMutation({
    mutationFn: async (form: ApiImport) => ({ form, plan: await importApi(form, true) }),
  })
}

export function useApply(existing: ApiDetails | null, onDone: (name: string) => void) {
  return useOperatorAction(
    (form: ApiImport) => importApi(form, false),
    ({ name }) => (existing ? TEXT.doneAgain(name) : TEXT.done(name)),
    (values) => onDone(values.name),
  )
}
