package servertest

import "testing"

// The models of the tests differ in what tests need of them.
func TestModels(t *testing.T) {
	if !NewTastesModel(t).TellsUncertainty() {
		t.Error("the model of distinct tastes tells no uncertainty")
	}
	if NewLearnedModel(t, 1, true).TellsUncertainty() {
		t.Error("the model of random users tells uncertainty")
	}
}
