import { Link } from '@tanstack/react-router'
import type { CatalogOperation } from '../../api/catalog.ts'
import { catalogGatewayOperation, type OperationField } from '../../api/playground/operations.ts'
import { CATALOG_TEXT as TEXT } from '../../messages/catalog.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass } from '../../ui/button.tsx'
import { SampleTabs } from '../../ui/code/sample-tabs.tsx'
import { priceText } from '../../ui/format/api-price.ts'
import { sampleOf } from './catalog-sample.ts'

/** An operation on sale: what it does and costs; its parameters and an example on demand. */
export function CatalogEntry({ operation, isSignedIn }: { operation: CatalogOperation; isSignedIn: boolean }) {
  const { title, description, method, path, effect } = operation
  const price: object = Object(operation.price)
  return (
    <div className="grid min-w-0 gap-2">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1">
        <h3 className="min-w-0 font-medium wrap-anywhere">{title}</h3>
        <span className="flex flex-wrap items-center gap-2">
          {effect === 'write' && <Badge tone="warn">{TEXT.changes}</Badge>}
          <span className="font-medium">{priceText(price)}</span>
        </span>
      </div>
      <p className="code text-muted wrap-anywhere">
        {method} {path}
      </p>
      {description !== '' && <p className="whitespace-pre-line wrap-anywhere">{description.replaceAll('`', '')}</p>}
      <div className="flex flex-wrap items-start justify-between gap-3">
        <details className="min-w-0 flex-1 basis-full sm:basis-0">
          <summary className="min-h-9 content-center font-medium">{TEXT.details}</summary>
          <Details operation={operation} />
        </details>
        <TryLink operation={operation} isSignedIn={isSignedIn} />
      </div>
    </div>
  )
}

/** For signed-in visitors, the playground; others sign in first and arrive there. */
function TryLink({ operation, isSignedIn }: { operation: CatalogOperation; isSignedIn: boolean }) {
  const { name, title } = operation
  if (isSignedIn)
    return (
      <Link to="/playground" search={{ operation: name }} className={buttonClass()} aria-label={TEXT.tryHint(title)}>
        {TEXT.try}
      </Link>
    )
  return (
    <Link
      to="/sign-in"
      search={{ to: `/playground?operation=${encodeURIComponent(name)}` }}
      className={buttonClass()}
      aria-label={TEXT.tryHint(title)}
    >
      {TEXT.try}
    </Link>
  )
}

function Details({ operation }: { operation: CatalogOperation }) {
  const { fields, exampleBody } = catalogGatewayOperation(operation)
  return (
    <div className="grid min-w-0 gap-4 pt-3">
      {fields.length === 0 && exampleBody === null ? (
        <p className="text-muted">{TEXT.noParameters}</p>
      ) : (
        <dl aria-label={TEXT.parameters} className="grid gap-3">
          {fields.map((field) => (
            <Parameter key={`${field.location} ${field.name}`} field={field} />
          ))}
          {exampleBody !== null && (
            <div>
              <dt className="code">body</dt>
              <dd className="text-muted">{TEXT.body}</dd>
            </div>
          )}
        </dl>
      )}
      <div className="grid min-w-0 gap-2">
        <p className="font-medium">{TEXT.example}</p>
        <SampleTabs sample={sampleOf(operation)} />
        <p className="small text-muted">
          {TEXT.withKey} {operation.pay_per_request && TEXT.withoutKey}
        </p>
      </div>
    </div>
  )
}

function Parameter({ field }: { field: OperationField }) {
  const { name, type, choices, location, required, description } = field
  return (
    <div className="min-w-0">
      <dt className="flex flex-wrap items-baseline gap-x-2">
        <span className="code wrap-anywhere">{name}</span>
        <span className="small text-muted">
          {TEXT.places[location]} · {type === 'choice' ? choices.join(', ') : TEXT.types[type]}
          {required && ` · ${TEXT.required}`}
        </span>
      </dt>
      {description !== '' && <dd className="text-muted wrap-anywhere">{description.replaceAll('`', '')}</dd>}
    </div>
  )
}
