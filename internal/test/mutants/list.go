package main

import "slices"

var mutants = slices.Concat(ofModels, ofNewItems, ofConnections, ofBodies, ofStates, ofStores,
	ofSharedStores)
