import { useEffect, useState } from 'react'
import type { ApiDetails, ApiPrice, ImportPlan } from '../../../api/apis.ts'
import { failureFrom } from '../../../api/client/failure.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { PlanTable } from './plan-table.tsx'
import { type CheckedImport, chosenImport, useApply, useReview } from './use-import.ts'

/** The plan of a checked document: the operator chooses operations, sets prices, and imports. */
export function ImportReview({ checked, existing, onBack, onDone }: ImportReviewProps) {
  const { plan } = checked
  const known = new Set(existing?.operations.map(({ id }) => id))
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    // An import again changes what is sold; it adds only what the operator selects.
    () => new Set(plan.api.operations.map(({ id }) => id).filter((id) => !existing || known.has(id))),
  )
  const [prices, setPrices] = useState<Readonly<Record<string, ApiPrice>>>({})
  const [missing, setMissing] = useState(false)
  const review = useReview()
  const apply = useApply(existing, onDone)
  const proceed = () => {
    setMissing(chosen.size === 0)
    if (chosen.size === 0 || review.isPending || apply.isPending) return
    const form = chosenImport(checked, [...chosen], prices)
    if (existing) review.mutate(form)
    else apply.mutate(form)
  }
  const { data } = review
  // The form with the focus is gone.
  useEffect(() => {
    window.scrollTo(0, 0)
    document.getElementById('main')?.focus()
  }, [])
  return (
    <div className="grid min-w-0 gap-6">
      <PlanTable checked={checked} chosen={chosen} prices={prices} onChosen={setChosen} onPrices={setPrices} />
      <PlanNotes plan={plan} />
      {missing && (
        <p role="alert" className="text-bad">
          {TEXT.chooseOne}
        </p>
      )}
      <FormFailure failure={failureFrom(review) ?? (data ? null : failureFrom(apply))} />
      <div className="flex flex-wrap gap-2">
        <Button onClick={onBack}>{TEXT.back}</Button>
        {plan.api.operations.length > 0 && (
          <Button tone="primary" busy={review.isPending || apply.isPending} onClick={proceed}>
            {existing ? TEXT.review : TEXT.apply(chosen.size)}
          </Button>
        )}
      </div>
      {data && (
        <Dialog title={TEXT.confirmTitle(data.form.name)} onClose={() => review.reset()}>
          <Difference plan={data.plan} />
          <FormFailure failure={failureFrom(apply)} />
          <DialogButtons>
            <Button onClick={() => review.reset()}>{UI_TEXT.cancel}</Button>
            <Button
              tone="primary"
              busy={apply.isPending}
              onClick={() => apply.mutate({ ...data.form, confirm: data.plan.confirm })}
            >
              {TEXT.confirm}
            </Button>
          </DialogButtons>
        </Dialog>
      )}
    </div>
  )
}

type ImportReviewProps = {
  checked: CheckedImport
  existing: ApiDetails | null
  onBack: () => void
  onDone: (name: string) => void
}

const MAX_REFUSED = 100

/** Operations that cannot be sold or that disappear, and notes for the operator. */
function PlanNotes({ plan }: { plan: ImportPlan }) {
  const { refused, notices, removed } = plan
  return (
    <>
      {removed.length > 0 && <p className="text-warn">{TEXT.gone(removed.length)}</p>}
      {refused.length > 0 && (
        <Card title={TEXT.refused(refused.length)}>
          <dl className="grid gap-3">
            {refused.slice(0, MAX_REFUSED).map(({ name, reason }) => (
              <div key={`${name} ${reason}`} className="min-w-0">
                <dt className="code wrap-anywhere">{name}</dt>
                <dd className="text-muted wrap-anywhere">{reason}</dd>
              </div>
            ))}
          </dl>
          {refused.length > MAX_REFUSED && <p className="text-muted">{TEXT.more(refused.length - MAX_REFUSED)}</p>}
        </Card>
      )}
      {notices.length > 0 && (
        <Card title={TEXT.notices}>
          <ul className="grid list-disc gap-2 pl-5">
            {notices.map((notice) => (
              <li key={notice} className="wrap-anywhere">
                {notice}
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}

const MAX_NAMED = 20

/** The additions, changes and removals of a re-import. */
function Difference({ plan: { added, changed, removed } }: { plan: ImportPlan }) {
  const parts: readonly (readonly [string, readonly string[]])[] = [
    [TEXT.addedHead, added],
    [
      TEXT.changedHead,
      changed.map(({ id, changed }) => `${id} (${changed.map((aspect) => TEXT.aspects[aspect]).join(', ')})`),
    ],
    [TEXT.removedHead, removed],
  ]
  if (parts.every(([, names]) => names.length === 0)) return <p>{TEXT.nothingChanges}</p>
  return (
    <div className="grid gap-3">
      <p className="text-muted">{TEXT.confirmText}</p>
      {parts
        .filter(([, names]) => names.length > 0)
        .map(([head, names]) => (
          <div key={head}>
            <p className="font-medium">{head}</p>
            <ul className="code grid gap-1">
              {names.slice(0, MAX_NAMED).map((name) => (
                <li key={name} className="wrap-anywhere">
                  {name}
                </li>
              ))}
              {names.length > MAX_NAMED && <li>{TEXT.more(names.length - MAX_NAMED)}</li>}
            </ul>
          </div>
        ))}
    </div>
  )
}
