package lockcore_test

import (
	"testing"

	"dlock/lockcore"
)

// The nodes of a new deployment are marked together, also one whose answer
// comes after the others have granted the first lock: it would not be asked
// again for as long as they are quicker.
func TestNewDeploymentIsMarkedAsOne(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		d.pause(2)
		k, err := d.locker().TryAcquire(background, "job")
		if err != nil {
			t.Fatal(err)
		}
		d.resume(2)
		eventually(t, "a marker on each node", func() bool {
			for _, marker := range d.stored(lockcore.NodeKey(lockcore.DefaultPrefix)) {
				if marker == "" {
					return false
				}
			}
			return true
		})
		if err := k.Extend(background); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the lock on the third node", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
	})
}
