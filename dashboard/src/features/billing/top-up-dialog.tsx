import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { MAX_TOP_UP_USD, MIN_TOP_UP_USD } from '../../../../server/core/accounts/top-up-range.ts'
import { billingQuery, topUp } from '../../api/billing/billing.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { balanceUsd, MICROS_PER_USD, typedUsd } from '../../ui/format/money.ts'

/** The top-up button with its dialog. Input is kept if the server refuses it. */
export function TopUpButton() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button tone="primary" onClick={() => setOpen(true)}>
        {TEXT.topUp}
      </Button>
      {open && <TopUpDialog onClose={() => setOpen(false)} />}
    </>
  )
}

function TopUpDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const methods = useQuery(billingQuery).data?.topup_methods ?? []
  const [error, setError] = useState<string>()
  const paying = useMutation({
    mutationFn: topUp,
    onSuccess: async ({ topup, url }) => {
      if (url === null) {
        void toast(TEXT.done(balanceUsd(topup.amount_micros_usd)))
        onClose()
      }
      await queries.invalidateQueries({ queryKey: ['billing'] })
    },
  })
  const payment = paying.data
  if (payment?.url) return <PaymentLink url={payment.url} amount={payment.topup.amount_micros_usd} onClose={onClose} />
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const micros = typedUsd(String(data.get('amount') ?? ''))
    const method = methods.find((name) => name === data.get('method'))
    const bad = micros === null || micros < MIN_TOP_UP_USD * MICROS_PER_USD || micros > MAX_TOP_UP_USD * MICROS_PER_USD
    setError(bad ? TEXT.amountWrong : undefined)
    if (bad || !method) return event.currentTarget.querySelector<HTMLElement>('[name=amount]')?.focus()
    if (!paying.isPending) paying.mutate({ amount: (micros / MICROS_PER_USD).toFixed(2), method })
  }
  return (
    <Dialog title={TEXT.topUp} onClose={onClose}>
      {methods.length === 0 ? (
        <p>{TEXT.none}</p>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <Field label={TEXT.amount} hint={TEXT.amountHint} error={error}>
            {(control) => <input {...control} name="amount" inputMode="decimal" defaultValue="10" required />}
          </Field>
          <Choices legend={TEXT.method} hint={methods.includes('sandbox') ? TEXT.sandboxText : undefined}>
            {methods.map((method, at) => (
              <Choice
                key={method}
                name="method"
                value={method}
                label={TEXT.methods[method]}
                defaultChecked={at === 0}
              />
            ))}
          </Choices>
          <FormFailure failure={failureFrom(paying)} />
          <DialogButtons>
            <Button onClick={onClose}>{TEXT.cancel}</Button>
            <Button type="submit" tone="primary" busy={paying.isPending}>
              {paying.isPending ? TEXT.paying : TEXT.pay}
            </Button>
          </DialogButtons>
        </form>
      )}
    </Dialog>
  )
}

/** Leads to the payment page. A link, because browsers block a window that opens by itself after a wait. */
function PaymentLink({ url, amount, onClose }: { url: string; amount: number; onClose: () => void }) {
  return (
    <Dialog title={TEXT.payTitle(balanceUsd(amount))} onClose={onClose}>
      <p>{TEXT.payText}</p>
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <a href={url} target="_blank" rel="noopener noreferrer" className={buttonClass('primary')} onClick={onClose}>
          <ExternalLink size={16} aria-hidden />
          {TEXT.payLink}
        </a>
      </DialogButtons>
    </Dialog>
  )
}
