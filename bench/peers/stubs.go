package main

func measureTrain(s *session) error { return nil }
