import { Toaster as Sonner, toast } from 'sonner'

/** Shows a toast in the region. */
export const show = toast

/** Above dialogs, and below menus: what somebody just opened is not covered. */
const LAYER = { zIndex: 60 }

/** The region where toasts appear. */
export function Toaster() {
  return (
    <Sonner
      position="bottom-right"
      visibleToasts={3}
      style={LAYER}
      toastOptions={{
        unstyled: true,
        classNames: {
          toast:
            'flex w-full items-center justify-between gap-3 rounded-xl border border-line-strong bg-surface px-4 py-3 text-text',
          title: 'font-medium',
          error: 'border-bad',
          icon: 'hidden',
          actionButton: 'control shrink-0 border border-line-strong px-3 font-medium hover:bg-sunken',
        },
      }}
    />
  )
}
