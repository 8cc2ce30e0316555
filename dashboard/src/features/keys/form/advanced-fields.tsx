import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTimezone } from '../../../api/account/settings.ts'
import { importedQuery, isImported } from '../../../api/catalog.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { useDebounced } from '../../../ui/browser/use-debounced.ts'
import { BudgetsField } from '../../../ui/budgets/budgets-field.tsx'
import { Choice, Choices, INPUT } from '../../../ui/field.tsx'
import { hasMore } from '../typed-settings.ts'
import { ENDPOINTS, type Endpoint } from './endpoints.ts'
import type { KeyFieldsProps } from './key-fields-props.ts'
import { ScopeBudgetFields } from './scope-budget-fields.tsx'
import { TypedFields } from './typed-fields.tsx'

/** Rarely used settings: budgets, endpoints, models and rate limits. Open if the key uses any of them. */
export function AdvancedFields(props: KeyFieldsProps) {
  const { apiKey, values, errors, onChange, onFieldBlur } = props
  const zone = useTimezone()
  const hasOne =
    apiKey !== null &&
    (apiKey.budgets.length > 0 ||
      apiKey.scope_budget !== null ||
      apiKey.allowed_endpoints.length > 0 ||
      hasMore(apiKey))
  return (
    <details className="grid gap-4" open={hasOne}>
      <summary className="font-medium">{TEXT.more}</summary>
      <div className="grid gap-4 pt-4">
        <BudgetsField
          value={values.budgets}
          error={errors.budgets}
          zone={apiKey?.budgets[0]?.timezone ?? zone}
          onChange={(budgets) => onChange({ budgets })}
          onBlur={() => onFieldBlur('budgets')}
        />
        <ScopeBudgetFields {...props} />
        <EndpointFields {...props} />
        <TypedFields {...props} section="more" />
      </div>
    </details>
  )
}

function EndpointFields({ values, errors, onChange }: KeyFieldsProps) {
  const choice = (name: Endpoint, label: ReactNode) => (
    <Choice
      key={name}
      type="checkbox"
      name="endpoints"
      label={label}
      checked={values.endpoints.includes(name)}
      onChange={({ target }) => onChange({ endpoints: toggled(values.endpoints, name, target.checked) })}
    />
  )
  return (
    <Choices legend={TEXT.endpoints} hint={TEXT.endpointsHint} error={errors.endpoints}>
      <div className="grid gap-x-3 gap-y-2 sm:grid-cols-2">
        {ENDPOINTS.map((name) => choice(name, operationLabel(name)))}
      </div>
      <ImportedEndpoints chosen={values.endpoints} choice={choice} />
    </Choices>
  )
}

/** Imported operations: those that are selected, and those that match a search. */
function ImportedEndpoints({ chosen, choice }: ImportedEndpointsProps) {
  const [search, setSearch] = useState('')
  const found = useQuery(importedQuery(useDebounced(search.trim()))).data ?? []
  const selected = chosen.filter(isImported)
  const isOffered = found.length > 0 || selected.length > 0 || search !== ''
  if (!isOffered) return null
  const titles = new Map(found.map(({ name, title }) => [name, title]))
  const names = [...new Set([...selected, ...found.map(({ name }) => name).filter(isImported)])]
  return (
    <div role="group" aria-label={TEXT.importedEndpoints} className="grid gap-2 pt-2">
      <input
        type="search"
        aria-label={TEXT.importedSearch}
        placeholder={TEXT.importedSearch}
        maxLength={200}
        value={search}
        onChange={({ target }) => setSearch(target.value)}
        // Enter in the search must not send the form around it.
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
        className={INPUT}
      />
      {names.length === 0 && <p className="small text-muted">{TEXT.importedNone}</p>}
      {names.map((name) =>
        choice(
          name,
          <span className="grid min-w-0">
            <span className="wrap-anywhere">{titles.get(name) ?? name}</span>
            {titles.has(name) && <span className="code text-muted wrap-anywhere">{name}</span>}
          </span>,
        ),
      )}
    </div>
  )
}

type ImportedEndpointsProps = {
  chosen: readonly Endpoint[]
  choice: (name: Endpoint, label: ReactNode) => ReactNode
}

/** The built-in endpoints in display order, then the others in the order of their selection. */
function toggled(chosen: readonly Endpoint[], name: Endpoint, isChosen: boolean): readonly Endpoint[] {
  const next = isChosen ? [...chosen, name] : chosen.filter((one) => one !== name)
  const builtIn = ENDPOINTS.filter((one) => next.includes(one))
  return [...builtIn, ...next.filter((one) => !builtIn.some((known) => known === one))]
}
